// Package stamp detects whether files have changed, without reading them.
package stamp

import (
	"fmt"
	"os"
	"strings"
)

// Of identifies a state of files. Symbolic links are followed, so a link that
// leads elsewhere is a change, as where Kubernetes replaces the files of a volume. A file
// that is replaced by one of the same size and age is another inode.
func Of(files ...string) string {
	var b strings.Builder
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			fmt.Fprint(&b, file, ";")
			continue
		}
		fmt.Fprint(&b, file, info.ModTime().UnixNano(), info.Size(), inode(info), ";")
	}
	return b.String()
}
