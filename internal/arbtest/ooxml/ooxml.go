// Package ooxml makes Office Open XML files for tests.
package ooxml

import (
	"archive/zip"
	"bytes"
	"maps"
	"slices"
)

// Zip makes a zip file of parts.
func Zip(parts map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(parts[name]))
		}
		if err != nil {
			panic(err) // memory gives no errors
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// File makes a file whose main part is main, at this path, with what else it
// holds.
func File(path, main string, more map[string]string) []byte {
	parts := map[string]string{path: main, "_rels/.rels": Relations("rId1", "officeDocument", path)}
	maps.Copy(parts, more)
	return Zip(parts)
}

// Relations makes a list of relations of three strings each: an ID, the end of
// the type, and the target.
func Relations(list ...string) string {
	text := `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	for r := range slices.Chunk(list, 3) {
		text += `<Relationship Id="` + r[0] + `" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/` + r[1] + `" Target="` + r[2] + `"/>`
	}
	return text + "</Relationships>"
}

// Docx makes a text document of what stands in its body.
func Docx(body string, more map[string]string) []byte {
	return File("word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`+body+`</w:body></w:document>`, more)
}
