package store

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// What is released is never edited: each migration is, byte for byte, what databases were
// made with.
func TestMigrationsAreAsReleased(t *testing.T) {
	released := map[string][2]string{ // SQLite, PostgreSQL
		"00001_keys.sql":         {"d4feec2654b961a8bc603727cbb2b2df7e94f3a854720465037ba1bbdab0b01b", "39077409cf76ec97d1eb1b5dfa930fa1e9f095cfa59b33d27f6d5d5c1ab3c4ff"},
		"00002_ledger.sql":       {"0e36c4192e5ea9ccb0a6dc1a876a96b2eaf127b4c23e1b270fc1dac87d059321", "29717b9b86da5a80abe8b27f1e42e4d7bd542e8e3bcfb684900a871c75f7dd61"},
		"00003_policies.sql":     {"2ecd5676d6f5598c7852805cd1e0e3bc7852e68df9ee4ab9104a8efd97dca982", "fba467b4e42eaef059eeba6f6a8badde05b6423c90101988442691683de47d74"},
		"00004_audit.sql":        {"3d5142a5607208a63d0529d16f240e041442199fe4ee53104c5b0d01326f0543", "6c730da8fae7707a9e0bc4282ea38ce90872062351c2d98b5530491d3f53e5d0"},
		"00005_costs.sql":        {"4aec653d111a5b91136bc766f6890469a1f207e47e4131dabb98b4c47c2219b6", "ae526c315b7db47a78eee58f63673523b170bb185ff10df0acc1ef60765c2a8d"},
		"00006_spent.sql":        {"66b903db1a5ec48cce9f30c93cc46c405bdff27b0b46aa2a9ebd4a8be4854690", "3f019c818a98c9bb26f9f06ff6db39b76e785de2db8b28332c0c3244da41a0b2"},
		"00007_estimates.sql":    {"17abed40ed2ee2fa7f99e68610df82dbee121d0e8f7c11a97f6f2923048b2c7a", "f961a5445592ffb0fa4618225940fa6fcbb6d1c5b7d22643bb764a91d86d7a5c"},
		"00008_items.sql":        {"5f31a8afb7cf1605e69bd784e4654e1e03de6ef4958436ee0c9eab08867ccc9b", "cf282dbb9cc27ba870ea0e2519042386ea596c806470baf2c357974285767349"},
		"00009_growth.sql":       {"ee84449343e564a8c6c2222d7563a34a0e6a6e7e17463111246267b57d720389", "7cd2c272cd9c898a23988bbae5a75254351ae4ce764b0ebf623d4e2930859037"},
		"00010_rollups.sql":      {"0766b75c03655b881edf697697cf0a46cfbdc44395d3a21dd7605388d4da31d0", "ee9c040c9c969d5ef76445fa93557ce4f413fe83742148211f90493cdd4e49f1"},
		"00011_least.sql":        {"a8b5774ae9d065e381a8617f412e9ee5797c1ae6cfe6f54318a206f90615481c", "90c75c1b4c72c22c16b42f967583725d87497eafff89a2f1e0d207bd8637bc98"},
		"00012_timelines.sql":    {"bc106193f65cfbf3e3010c6b0011c5d2a87c9a4f98a2d1d4f4752fdb9e2bb494", "03af2e2cd634bc803d83caf5a6c40f2e7c848a511ae1ffe035d407b3a629d378"},
		"00013_nodes.sql":        {"5d85fef5a092b462f045359c4bdf7de9f42366b7fa1d942f824789b02dc279bd", "e7553e5f7d72ce49bc7c54b3f2a47205dbc33c7b15f4cb5c77b0f17fd103e66d"},
		"00014_captures.sql":     {"1849edb5cfc1097110fc4adb8be184160ba22fa27be28e42fa17c8d07dd851eb", "6d383dd3816209f9cf5b341b385535ae0ccea5814c75fe29b5c615bcae5e7586"},
		"00015_first_events.sql": {"8a5a5db5e9da34aa30e5298323a17b1f262567b39365ee01567b0d80131a6173", "7f73f866be6b9b83a3e27e74b2278624802759893e12f9c15a63d32554b7b8ac"},
		"00016_partitions.sql":   {"590532a0869aaf9d2c7ae94c9fa418dd683f3fdf05e1641c8feac7f15403c217", "79b9a1d1ddeb23ad34859c61e68f0c89004d2032b28ebe5b761a82560a515dcf"},
		"00017_faults.sql":       {"3f72af45b3768c8ac78d75e80e7dc8d0ee099dd1d29aeaded5119a25bd2a79c3", "3f70da9ebb962a7bec8b5f31f680b23a3ac7d5da4122dc78288da8954d03d91e"},
		"00018_quantities.sql":   {"1f28e513237a62f596b5d4b29f74ec71a3209823963cb738d552eb01796e80be", "ca026528225327c56dc6d06082cba7e9f75f3f380e67bd746563c50421e1fe22"},
	}
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) != len(released) {
		t.Fatalf("%d migrations, want %d: %v", len(files), len(released), err)
	}
	for _, file := range files {
		for i, d := range []*dialect{&sqliteDialect, &postgresDialect} {
			text, err := render(d, migrations, file)
			sum := sha256.Sum256([]byte(text))
			if got := hex.EncodeToString(sum[:]); err != nil || got != released[path.Base(file)][i] {
				t.Errorf("%s in dialect %d: %s, %v", file, i, got, err)
			}
		}
	}
}

// A word that there is not, or one without its texts, does not reach a database.
func TestRenderRefuses(t *testing.T) {
	for _, word := range []string{`{{nope}}`, `{{ text }}`, `{{text "x"}}`, `{{onchange "t"}}`, `{{countchanges "t" "c"}}`, `{{noted "t"}}`, `{{appendonly}}`, `{{`, `{{text`} {
		files := fstest.MapFS{"m.sql": {Data: []byte("CREATE " + word)}}
		if text, err := render(&sqliteDialect, files, "m.sql"); err == nil || !strings.Contains(err.Error(), "m.sql: {{") {
			t.Errorf("%s: %q, %v", word, text, err)
		}
	}
}
