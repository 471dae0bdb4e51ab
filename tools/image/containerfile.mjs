// Reads deploy/Containerfile, so that `make release` makes the same image as podman, buildah and docker without any of
// them. It knows the instructions that the file has, and refuses others.

/** Splits the words of an instruction at spaces outside of double quotes, and removes the quotes. */
const wordsOf = text => [...text.matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) => word.replaceAll('"', ''));

const pairsOf = text => wordsOf(text).map(word => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]);

const copyOf = text => {
  const words = wordsOf(text);
  const [uid, gid] = (words[0].startsWith('--chown=') ? words.shift().slice('--chown='.length) : '0:0').split(':').map(Number);
  const [from, to] = words;
  return {from, to, uid, gid};
};

/** What each instruction adds to the image's copies and configuration. */
const instructions = {
  FROM: (image, text) => {
    if (text !== 'scratch') throw new Error(`FROM ${text}: only scratch is known`);
  },
  COPY: ({copies}, text) => copies.push(copyOf(text)),
  ENV: ({config}, text) => (config.Env = [...(config.Env ?? []), ...wordsOf(text)]),
  LABEL: ({config}, text) => (config.Labels = {...config.Labels, ...Object.fromEntries(pairsOf(text))}),
  USER: ({config}, text) => (config.User = text),
  WORKDIR: ({config}, text) => (config.WorkingDir = text),
  VOLUME: ({config}, text) => (config.Volumes = {...config.Volumes, [text]: {}}),
  EXPOSE: ({config}, text) => (config.ExposedPorts = {...config.ExposedPorts, [`${text}/tcp`]: {}}),
  ENTRYPOINT: ({config}, text) => (config.Entrypoint = JSON.parse(text)),
  CMD: ({config}, text) => (config.Cmd = JSON.parse(text)),
};

/** Returns what a Containerfile copies, in order, and the configuration of its image as OCI writes it. */
export const readContainerfile = text => {
  const image = {copies: [], config: {}};
  const lines = text.replaceAll('\\\n', ' ').split('\n');
  for (const line of lines.map(each => each.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const [, name, rest] = /^(\S+)\s+(.*)$/.exec(line) ?? [line, line, ''];
    if (!Object.hasOwn(instructions, name)) throw new Error(`unknown instruction: ${line}`);
    instructions[name](image, rest);
  }
  return image;
};
