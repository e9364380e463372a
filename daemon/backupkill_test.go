package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"arborist/daemon/api"
)

// childVariable makes the test binary run child instead of tests.
const childVariable = "ARBORIST_DAEMON_CHILD"

func TestMain(m *testing.M) {
	if order := os.Getenv(childVariable); order != "" {
		if err := child(strings.Split(order, "|")); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child backs a home up, restores it or rotates a key of it. For the first two it waits for a line of its input
// after each piece of progress, so that it can be killed at each of them.
func child(order []string) error {
	if order[0] == "rotate" {
		return rotateInChild(Home(order[1]))
	}
	in := bufio.NewReader(os.Stdin)
	fn := func(p api.Progress) {
		fmt.Println(p.Stage, p.Done)
		in.ReadString('\n')
	}
	home, dir := Home(order[1]), order[2]
	if order[0] == "restore" {
		_, err := Restore(context.Background(), RestoreOptions{Dir: dir, Home: home}, fn)
		return err
	}
	n, err := Open(context.Background(), Options{Home: home})
	if err != nil {
		return err
	}
	_, err = n.Backup(context.Background(), api.BackupRequest{Dir: dir}, fn)
	return errors.Join(err, n.Close())
}

// runKilled runs the child and kills it at a piece of its progress. It reports
// whether the child came to its end before.
func runKilled(t *testing.T, order string, at int) (ended bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+order)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if text, ok := strings.CutPrefix(lines.Text(), "error "); ok {
			t.Fatal(text)
		}
		if n == at {
			cmd.Process.Kill()
			cmd.Wait()
			return false
		}
		fmt.Fprintln(in)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return true
}

func TestAKilledBackupIsNeverRestoredAndHurtsNoHome(t *testing.T) {
	home, _ := aBackup(t)
	for at := 0; ; at++ {
		dir := filepath.Join(t.TempDir(), "backup")
		ended := runKilled(t, "backup|"+string(home)+"|"+dir, at)
		to := Home(filepath.Join(t.TempDir(), "new"))
		_, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: to}, nil)
		if ended != (err == nil) {
			t.Fatalf("killed at %d: ended %v, restore: %v", at, ended, err)
		}
		if ended {
			if at < 5 {
				t.Errorf("it was killed %d times", at)
			}
			break
		}
		if e := api.AsError(err); e.Code != api.CodeInvalid || !strings.Contains(e.Message, "interrupted") {
			t.Errorf("killed at %d: %v", at, err)
		}
	}
	n := openNode(t, home)
	if check, err := n.Check(t.Context()); err != nil || len(check.Problems) > 0 {
		t.Errorf("the home: %+v, %v", check, err)
	}
}

func TestAKilledRestoreLeavesNoHomeAndCanBeDoneAgain(t *testing.T) {
	_, dir := aBackup(t)
	to := Home(filepath.Join(t.TempDir(), "new"))
	for at := 0; !runKilled(t, "restore|"+string(to)+"|"+dir, at); at++ {
		if _, err := os.Stat(string(to)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("killed at %d: there is a home, %v", at, err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(string(to))); err != nil || len(left) != 1 {
		t.Errorf("it left %v, %v", left, err)
	}
	n := openNode(t, to)
	if check, err := n.Check(t.Context()); err != nil || len(check.Problems) > 0 || check.Documents < 5 {
		t.Errorf("restored: %+v, %v", check, err)
	}
}
