// The site: the Markdown of the repository as it is, with search and llms.txt. `make site` builds it into bin/site.
import fs from "node:fs";
import path from "node:path";
import { defineConfig } from "vitepress";
import llms from "vitepress-plugin-llms";

const root = path.resolve(import.meta.dirname, "../../..");
const repository = "https://github.com/genway/genway";
const pages = (folder) =>
  fs.readdirSync(path.join(root, folder)).filter((name) => name.endsWith(".md") && name !== "README.md").sort()
    .map((name) => ({ text: title(path.join(folder, name)), link: `/${folder}/${name.slice(0, -3)}` }));
const title = (file) => fs.readFileSync(path.join(root, file), "utf8").match(/^# (.*)$/m)[1].replaceAll("`", "");

// folders have pages; no others do.
const folders = ["docs", "deploy", "proto"];
// isPage reports whether a file of the repository is a page of the site.
const isPage = (file) => file.endsWith(".md") && (folders.includes(file.split("/")[0]) || !file.includes("/")) && fs.existsSync(path.join(root, file));

export default defineConfig({
  title: "Genway",
  description: "A gateway for text and image generation: six JSON protocols and gRPC in, any upstream out.",
  srcDir: root,
  srcExclude: ["**/node_modules/**", `!(${folders.join("|")})/**/*`],
  outDir: path.join(root, "bin/site"),
  cacheDir: path.join(root, "bin/site-cache"),
  rewrites: (page) => page.replace(/README\.md$/, "index.md"),
  cleanUrls: true,
  lastUpdated: true,
  themeConfig: {
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: repository }],
    editLink: { pattern: `${repository}/edit/main/:path` },
    sidebar: [
      { text: "Start", items: [{ text: "Genway", link: "/" }, { text: "SDKs and agents", link: "/docs/site/clients/" }] },
      { text: "Guides", items: pages("docs") },
      { text: "Reference", items: pages("docs/reference"), collapsed: true },
      { text: "Deployment", items: ["release", "image", "compose", "chart", "packages"].map((name) => ({ text: title(`deploy/${name}/README.md`), link: `/deploy/${name}/` })), collapsed: true },
      { text: "Decisions", items: pages("docs/decisions"), collapsed: true },
    ],
  },
  markdown: {
    // What is no page of the site, a .proto or a folder, is shown by the repository.
    config: (md) => {
      const normalize = md.normalizeLink;
      md.core.ruler.after("inline", "repository-links", ({ tokens, env }) => {
        for (const link of tokens.flatMap((t) => t.children ?? []).filter((t) => t.type === "link_open")) {
          const [target, anchor] = decodeURI(link.attrGet("href")).split("#");
          if (!target || /^[a-z]+:|^\//.test(target)) continue;
          const file = path.posix.join(path.posix.dirname(env.relativePath), target);
          if (isPage(file)) link.attrSet("href", normalize(target.replace(/README\.md$/, "index.md") + (anchor ? `#${anchor}` : "")));
          else link.attrSet("href", `${repository}/tree/main/${file}${anchor ? `#${anchor}` : ""}`);
        }
      });
    },
  },
  vite: {
    // The pages are outside of this folder, which has the modules that they are built with.
    resolve: { alias: [{ find: /^vue(?=$|\/)/, replacement: path.join(import.meta.dirname, "../node_modules/vue") }] },
    plugins: [llms({ ignoreFiles: ["docs/decisions/*", "docs/reference/c*"] })],
  },
});
