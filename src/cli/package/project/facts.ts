// What package.json says about an operator.

import {existsSync, readFileSync} from 'node:fs';
import {extname, join} from 'node:path';
import {messageOf} from '#src/base/message.js';
import {isPlainObject} from '#src/schema/decode/plain.js';

/** Somebody, by name. */
export interface Person {
  readonly name: string;
  readonly email?: string;
  readonly url?: string;
}

/** An icon: of a file, for bundles, or at an address, for charts. */
export interface Icon {
  readonly address?: string;
  readonly file?: {readonly base64: string; readonly mediaType: string};
}

/** What a package says about its operator. */
export interface ProjectFacts {
  /** The name of the package, a DNS label. */
  readonly name: string;
  /** The name as people read it. */
  readonly displayName: string;
  /** A semantic version without `v`. */
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly author?: Person;
  readonly license?: string;
  readonly homepage?: string;
  readonly repository?: string;
  readonly icon?: Icon;
  /** The oldest version of Kubernetes that the operator works with, as x.y.z. */
  readonly oldestKubernetes?: string;
}

const label = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const semanticVersion = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

type Fields = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined);

/**
 * Returns what the package.json in a folder says. `version` takes precedence over its own. Throws an error of one line
 * for what cannot be used.
 */
export const projectFacts = (folder: string, version: string): ProjectFacts => {
  const fields = fieldsIn(folder);
  const name = textOf(fields['name'])?.replace(/^@[^/]*\//, '') ?? '';
  if (!label.test(name) || name.length > 40)
    throw new Error(`package.json: the name ${JSON.stringify(name)} must be lower-case letters, digits and "-", at most 40 of them`);
  const given = version || (textOf(fields['version']) ?? '');
  if (!semanticVersion.test(given))
    throw new Error(
      `${version ? '--version' : 'package.json: the version'} must be a semantic version such as 1.2.3, not ${JSON.stringify(given)}`,
    );
  const [author, license, homepage] = [personOf(fields['author']), textOf(fields['license']), textOf(fields['homepage'])];
  const [repository, icon, oldestKubernetes] = [addressOf(fields['repository']), iconOf(folder, fields), oldestOf(fields)];
  const {keywords} = fields;
  return {
    name,
    version: given,
    displayName: textOf(fields['displayName']) ?? titleOf(name),
    description: textOf(fields['description']) ?? `The operator ${name}`,
    keywords: Array.isArray(keywords) ? keywords.filter(each => typeof each === 'string') : [],
    ...(author ? {author} : {}),
    ...(license && license !== 'UNLICENSED' ? {license} : {}),
    ...(homepage ? {homepage} : {}),
    ...(repository ? {repository} : {}),
    ...(icon ? {icon} : {}),
    ...(oldestKubernetes ? {oldestKubernetes} : {}),
  };
};

const fieldsIn = (folder: string): Fields => {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) throw new Error(`${path} is missing: name the folder of a project that plat create operator has made`);
  try {
    const fields: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isPlainObject(fields)) return fields;
  } catch (error) {
    throw new Error(`${path}: ${messageOf(error)}`, {cause: error});
  }
  throw new Error(`${path}: must be an object`);
};

const titleOf = (name: string): string =>
  name
    .split('-')
    .map(word => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join(' ');

/** The author as npm writes it: an object, or `Name <email> (address)`. */
const personOf = (author: unknown): Person | undefined => {
  if (isPlainObject(author)) {
    const [name, email, url] = [textOf(author['name']), textOf(author['email']), textOf(author['url'])];
    return name ? {name, ...(email ? {email} : {}), ...(url ? {url} : {})} : undefined;
  }
  const text = textOf(author);
  if (text === undefined) return undefined;
  const within = (open: string, close: string): string | undefined => {
    const from = text.indexOf(open);
    const to = text.indexOf(close, from);
    return from >= 0 && to > from ? textOf(text.slice(from + 1, to)) : undefined;
  };
  const [email, url] = [within('<', '>'), within('(', ')')];
  const name = text.split(/[<(]/, 1)[0]!.trim();
  return name ? {name, ...(email ? {email} : {}), ...(url ? {url} : {})} : undefined;
};

/** The address of a repository: npm has it as an address of git, or as an object with one. */
const addressOf = (repository: unknown): string | undefined => {
  const text = textOf(isPlainObject(repository) ? repository['url'] : repository)
    ?.replace(/^git\+/, '')
    .replace(/\.git$/, '');
  return text?.startsWith('https://') ? text : undefined;
};

const mediaTypes: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
};

const iconOf = (folder: string, fields: Fields): Icon | undefined => {
  const icon = textOf(fields['icon']);
  if (icon === undefined) return undefined;
  if (icon.startsWith('https://')) return {address: icon};
  const path = join(folder, icon);
  const mediaType = mediaTypes[extname(icon).toLowerCase()];
  if (!mediaType)
    throw new Error(`package.json: the icon ${icon} must be an https address, or a file ${Object.keys(mediaTypes).join(', ')}`);
  if (!existsSync(path)) throw new Error(`package.json: the icon ${path} is missing`);
  return {file: {base64: readFileSync(path).toString('base64'), mediaType}};
};

/** The oldest version of Kubernetes: `engines.kubernetes`, as `>=1.25`. */
const oldestOf = ({engines}: Fields): string | undefined => {
  const given = isPlainObject(engines) ? textOf(engines['kubernetes']) : undefined;
  if (given === undefined) return undefined;
  const [, major, minor, patch = '0'] = /^>=\s*(\d+)\.(\d+)(?:\.(\d+))?$/.exec(given) ?? [];
  if (major === undefined) throw new Error(`package.json: engines.kubernetes must be such as ">=1.25", not ${JSON.stringify(given)}`);
  return `${major}.${minor}.${patch}`;
};
