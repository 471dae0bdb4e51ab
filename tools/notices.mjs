// Collects the licences of bundled packages for THIRD-PARTY-NOTICES.txt.
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

/** Returns the folders of the packages that the files belong to. */
const foldersOf = files => new Set(files.flatMap(file => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));

const rule = '-'.repeat(80);

const noticeOf = (folder, what) => {
  const {name, version, license} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder)
    .filter(file => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort();
  if (!license && files.length === 0) throw new Error(`the package ${name} names no licence`);
  const texts = files.map(file => readFileSync(join(folder, file), 'utf8').trim());
  return [rule, `${name} ${version} (${license ?? 'see below'})${what}`, rule, '', ...texts.flatMap(text => [text, ''])].join('\n');
};

/** Packages that are not bundled, but from whose models schemas and types are generated. */
const readFrom = {
  'node_modules/@kubernetes/client-node': ': the schemas and types of Kubernetes objects are generated from its models',
  'node_modules/kubernetes-models': ': descriptions of the fields of Kubernetes objects are read from its declarations',
};

/** Returns the notices of all packages that the files belong to. */
export const noticesOf = files => {
  const folders = [...new Set([...foldersOf(files), ...Object.keys(readFrom).filter(folder => existsSync(folder))])].sort();
  return [
    'plat contains code of these packages, each under its own licence.\n',
    ...folders.map(folder => noticeOf(folder, readFrom[folder] ?? '')),
  ].join('\n');
};
