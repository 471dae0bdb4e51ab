// Collects the licences of bundled packages for THIRD-PARTY-NOTICES.txt, and reads them there.
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

/** Returns the folders of the packages that the files belong to. */
const foldersOf = files => new Set(files.flatMap(file => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));

const rule = '-'.repeat(80);
const unnamed = 'see below';

/** Returns one notice. Without a licence that has a name, the texts say what it is. */
export const formatNotice = ({name, version, licence = unnamed, what = ''}, texts) =>
  [rule, `${name} ${version} (${licence})${what}`, rule, '', ...texts.flatMap(text => [text.trim(), ''])].join('\n');

/** Returns the notice of a package. Of a text that was given before it names the package it was given with. */
const noticeOf = (folder, what, given) => {
  const {name, version, license} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder)
    .filter(file => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort();
  if (!license && files.length === 0) throw new Error(`the package ${name} names no licence`);
  const texts = files.map(file => {
    const text = readFileSync(join(folder, file), 'utf8').trim();
    const other = given.get(text);
    if (other === undefined) given.set(text, name);
    return other === undefined ? text : `The text is that of ${other} above.`;
  });
  return formatNotice({name, version, what, ...(license ? {licence: license} : {})}, texts);
};

/** Packages that are not bundled, but from whose models schemas and types are generated. */
const readFrom = {
  'node_modules/@kubernetes/client-node': ': the schemas and types of Kubernetes objects are generated from its models',
  'node_modules/kubernetes-models': ': descriptions of the fields of Kubernetes objects are read from its declarations',
};

/** Returns the notices of all packages that the files belong to. */
export const noticesOf = files => {
  const folders = [...new Set([...foldersOf(files), ...Object.keys(readFrom).filter(folder => existsSync(folder))])].sort();
  const given = new Map();
  return [
    'plat contains code of these packages, each under its own licence.\n',
    ...folders.map(folder => noticeOf(folder, readFrom[folder] ?? '', given)),
  ].join('\n');
};

const heading = /^-{80}\n(\S+) (\S+) \((.+?)\)(?::.*)?\n-{80}$/gm;

/** Returns the packages that a text of notices names, each with its licence, or with the text of one without a name. */
export const packagesIn = notices => {
  const found = [...notices.matchAll(heading)];
  return found.map(({index, 0: head, 1: name, 2: version, 3: licence}, at) => {
    const text = notices.slice(index + head.length, found[at + 1]?.index).trim();
    return licence === unnamed ? {name, version, text} : {name, version, licence};
  });
};
