import { clients } from "./clients.data.mjs";

export default {
  paths: () => clients().map(({ slug, name, group, code }) => ({ params: { client: slug, name, group }, content: "````\n" + code + "\n````" })),
};
