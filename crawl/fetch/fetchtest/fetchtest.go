// Package fetchtest tests fetchers: [Run] is the contract suite that every
// fetcher must pass, and beside it stand the servers that crawl tests
// need: a name server, a canary that nobody may reach, and raw HTTP answers
// that no HTTP library would send.
//
// Everything listens on loopback and stops with its test.
package fetchtest
