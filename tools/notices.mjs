// The licences of what is bundled into the package, for the file that goes with it.
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

/** The folders of packages that files come from. */
const foldersOf = files => new Set(files.flatMap(file => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));

const rule = '-'.repeat(80);

const noticeOf = (folder, what) => {
  const {name, version, license} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter(file => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  if (!license && files.length === 0) throw new Error(`the package ${name} names no licence`);
  const texts = files.map(file => readFileSync(join(folder, file), 'utf8').trim());
  return [rule, `${name} ${version} (${license ?? 'see below'})${what}`, rule, '', ...texts.flatMap(text => [text, ''])].join('\n');
};

/** Packages whose code is not bundled, but from whose models schemas and types are generated. */
const readFrom = {'node_modules/@kubernetes/client-node': ': the schemas and types of Kubernetes objects are generated from its models'};

/** The notices of every package that one of the files belongs to. */
export const noticesOf = files => {
  const folders = [...new Set([...foldersOf(files), ...Object.keys(readFrom)])].sort();
  return ['plat contains code of these packages, each under its own licence.\n', ...folders.map(folder => noticeOf(folder, readFrom[folder] ?? ''))].join('\n');
};
