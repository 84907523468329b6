package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// TestU35Packages: the packages of the contract that a release publishes are enough for the clients, in place of
// what these generate.
func TestU35Packages(t *testing.T) { //nolint:tparallel // the packages at once, and after the clients
	interpreter, err := server.Python()
	if err != nil {
		t.Skip("SKIPPED: the packages of the contract were not tested:", err)
	}
	l, node := java(t), typescript(t)
	l.path = wrappers(t, map[string]string{"python3": interpreter}) + ":" + node.path
	packages := filepath.Join(t.TempDir(), "packages")
	if out, err := l.bash(t, ".", "deploy/scripts/contract-packages", "OUT="+packages, "VERSION=1.2.3-rc.4"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, script := range map[string]string{
		"wheel": `python3 -m zipfile -e "$PACKAGES"/genway_contract-1.2.3rc4-py3-none-any.whl .
			PYTHONPATH=. python3 "$EXAMPLES/client-python/client.py"`,
		"sdist": `tar -xzf "$PACKAGES"/genway_contract-1.2.3rc4.tar.gz
			PYTHONPATH=genway_contract-1.2.3rc4 python3 "$EXAMPLES/client-python/client.py"`,
		"npm": `mkdir -p node_modules/@genway
			ln -s "$EXAMPLES"/client-typescript/node_modules/* node_modules/
			tar -xzf "$PACKAGES"/genway-contract-1.2.3-rc.4.tgz && mv package node_modules/@genway/contract
			cp "$EXAMPLES"/client-typescript/{tsconfig,package}.json .
			sed 's,"\./gen/genway/v1/,"@genway/contract/,' "$EXAMPLES"/client-typescript/client.ts >client.ts
			grep -q '"@genway/contract/' client.ts
			"$EXAMPLES/client-typescript/node_modules/.bin/tsc" && node dist/client.js`,
		"jar": `javac -nowarn -proc:none -cp "$PACKAGES/genway-contract-1.2.3-rc.4.jar:/usr/share/java/*" -d . "$EXAMPLES/client-java/Client.java"
			java -cp ".:$PACKAGES/genway-contract-1.2.3-rc.4.jar:/usr/share/java/*" Client`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			examples, err := filepath.Abs(filepath.Join(root, "docs", "examples"))
			if err != nil {
				t.Fatal(err)
			}
			out, err := l.bash(t, ".", `cd "$WORK"`+"\n"+script, "WORK="+t.TempDir(), "PACKAGES="+packages, "EXAMPLES="+examples,
				"GENWAY="+gateway.GRPC, "GENWAY_KEY="+gateway.Keys["internal"])
			if err != nil || !said.MatchString(out) || strings.Contains(out, "gen/genway") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
