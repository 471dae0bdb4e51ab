import {isDeepStrictEqual} from 'node:util';
import {Document, isMap, isSeq, LineCounter, Scalar, YAMLSeq, type YAMLMap} from 'yaml';
import {documentsOf, parseYaml} from '#src/base/yaml/parse.js';
import {isAmbiguous} from '#src/base/yaml/scalar.js';
import {valueOf, type YamlValue} from '#src/base/yaml/value.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {encoded, entryNames, planeExtension, type AdminSettings, type EntryNames} from './settings.js';

/** The plane whose entries go into a file. */
export interface PlaneEntries {
  readonly settings: AdminSettings;
  /** The plane's data directory. Entries of a plane whose directory is gone are replaced. */
  readonly directory: string;
  /** The context it has where the name is free. */
  readonly context: string;
  /** Whether a directory does not exist any more. */
  readonly isGone: (directory: string) => boolean;
}

/** A kubeconfig file with a plane's entries. */
export interface Merged {
  readonly text: string;
  readonly names: EntryNames;
  /** The previous current context, if it was another. */
  readonly previousContext: string | undefined;
}

type Lists = Readonly<Record<'clusters' | 'users' | 'contexts', readonly PlainObject[]>>;

/** A kubeconfig file: its nodes, with comments and formatting, and their values. */
interface Kubeconfig {
  readonly document: Document;
  readonly lists: Lists;
  readonly currentContext: unknown;
}

/** Parses a kubeconfig file. Throws an error of one line that contains nothing of the content. */
export const parseKubeconfig = (text: string): Kubeconfig => {
  const [{document, lines} = {document: new Document(), lines: new LineCounter()}, another] = documentsOf(text);
  if (another) throw new Error('it holds more than one document');
  document.contents ??= document.createNode({apiVersion: 'v1', kind: 'Config'});
  const {value, repeated} = readable(document, lines);
  if (repeated[0]) throw new Error(`line ${repeated[0].line}: a key is repeated`);
  if (!isMap(document.contents) || !isPlainObject(value)) throw new Error('it holds no object');
  const {apiVersion = 'v1', kind = 'Config', clusters, users, contexts} = value;
  if (apiVersion !== 'v1' || kind !== 'Config') throw new Error('it is not of apiVersion v1 and kind Config');
  const list = (name: string, found: unknown): readonly PlainObject[] => {
    if (found === undefined || found === null) return [];
    if (!Array.isArray(found) || !found.every(isPlainObject)) throw new Error(`${name} is not a list of objects`);
    return found;
  };
  return {
    document,
    lists: {clusters: list('clusters', clusters), users: list('users', users), contexts: list('contexts', contexts)},
    currentContext: value['current-context'],
  };
};

const readable = (document: Document, lines: LineCounter): YamlValue => {
  try {
    return valueOf(document, lines);
  } catch (cause) {
    throw new Error('it holds a tag, an alias or a key that has no meaning there', {cause}); // The cause shows the content.
  }
};

/**
 * Adds a plane's cluster, user and context to the text of a kubeconfig file, and makes the context the current one.
 * Everything else is kept, comments and unknown fields included. Throws an error of one line if the text is not a
 * kubeconfig file.
 */
export const mergedInto = (text: string, plane: PlaneEntries): Merged => {
  const {document, lists, currentContext} = parseKubeconfig(text);
  const names = freeNames(lists, plane);
  const {cluster, user} = encoded(plane.settings);
  const clusterMap = contentOf(document, {list: 'clusters', name: names.context, field: 'cluster'});
  setAll(clusterMap, cluster);
  for (const contradicting of ['insecure-skip-tls-verify', 'certificate-authority']) clusterMap.delete(contradicting);
  contentIn(document, clusterMap, {list: 'extensions', name: planeExtension, field: 'extension'}).set(
    'directory',
    textNode(plane.directory),
  );
  setAll(contentOf(document, {list: 'users', name: names.user, field: 'user'}), user);
  setAll(contentOf(document, {list: 'contexts', name: names.context, field: 'context'}), {cluster: names.context, user: names.user});
  setAll(document.contents as YAMLMap, {'current-context': names.context});
  const previousContext = typeof currentContext === 'string' && currentContext !== names.context ? currentContext : undefined;
  return {text: textOf(document), names, previousContext};
};

/**
 * Removes a plane's entries from the text of a kubeconfig file, unless another plane replaced them. Restores the
 * previous current context.
 */
export const withoutPlane = (text: string, plane: PlaneEntries, {names, previousContext}: Omit<Merged, 'text'>): string => {
  const parsed = parseKubeconfig(text);
  const cluster = named(parsed.lists.clusters, names.context);
  return cluster && !isOf(plane, cluster) ? text : withoutEntries(parsed, names, previousContext);
};

/** Removes the entries of the plane with a data directory from the text of a kubeconfig file. */
export const withoutDirectory = (text: string, directory: string): string => {
  const own = parseKubeconfig(text).lists.clusters.find(cluster => directoryOf(cluster) === directory)?.['name'];
  if (typeof own !== 'string') return text;
  return withoutDirectory(withoutEntries(parseKubeconfig(text), {context: own, user: `${own}-admin`}, undefined), directory);
};

const withoutEntries = ({document, lists, currentContext}: Kubeconfig, names: EntryNames, previousContext: string | undefined): string => {
  for (const [list, name] of [
    ['clusters', names.context],
    ['users', names.user],
    ['contexts', names.context],
  ] as const) {
    const entries = document.get(list);
    if (isSeq(entries)) entries.items = entries.items.filter(entry => !isMap(entry) || entry.get('name') !== name);
  }
  if (currentContext === names.context)
    setAll(document.contents as YAMLMap, {
      'current-context': previousContext && named(lists.contexts, previousContext) ? previousContext : '',
    });
  return textOf(document);
};

/** Returns the text of a document. It is read again, since what it means to others replaces a user's file. */
const textOf = (document: Document): string => {
  const text = document.toString({lineWidth: 0, indentSeq: false});
  const meant = valueOf(document, new LineCounter()).value;
  if (!isDeepStrictEqual(parseYaml(text).value, meant)) throw new Error('it cannot be written without changing what it means');
  return text;
};

const named = (entries: readonly PlainObject[], name: string): PlainObject | undefined => entries.find(entry => entry['name'] === name);

/** The names of this plane's entries, or the first that are free or belong to a plane that is gone. */
const freeNames = (lists: Lists, plane: PlaneEntries): EntryNames => {
  const most = lists.clusters.length + lists.users.length + lists.contexts.length + 1; // Each entry occupies at most one name.
  const candidates = Array.from({length: most}, (_, index) => entryNames(index + 1, plane.context));
  const own = candidates.find(({context}) => lists.clusters.some(entry => entry['name'] === context && hasAuthority(entry, plane)));
  return own ?? candidates.find(names => isFree(names, lists, plane))!;
};

const isFree = ({context, user}: EntryNames, {clusters, users, contexts}: Lists, plane: PlaneEntries): boolean => {
  const cluster = named(clusters, context);
  if (cluster) return isOf(plane, cluster);
  const found = named(contexts, context)?.['context'];
  return !named(users, user) && (!isPlainObject(found) || found['cluster'] === context);
};

const isOf = (plane: PlaneEntries, cluster: PlainObject): boolean => {
  const directory = directoryOf(cluster);
  return hasAuthority(cluster, plane) || (directory !== undefined && (directory === plane.directory || plane.isGone(directory)));
};

const hasAuthority = ({cluster}: PlainObject, {settings}: PlaneEntries): boolean =>
  isPlainObject(cluster) && cluster['certificate-authority-data'] === encoded(settings).cluster['certificate-authority-data'];

/** The directory of the plane that wrote a cluster entry. */
const directoryOf = ({cluster}: PlainObject): string | undefined => {
  const extensions =
    isPlainObject(cluster) && Array.isArray(cluster['extensions']) ? (cluster['extensions'] as unknown[]).filter(isPlainObject) : [];
  const extension = named(extensions, planeExtension)?.['extension'];
  return isPlainObject(extension) && typeof extension['directory'] === 'string' ? extension['directory'] : undefined;
};

/** The location of an object: the entry of that name in a list of named entries. */
interface Place {
  readonly list: string;
  readonly name: string;
  readonly field: string;
}

const contentOf = (document: Document, place: Place): YAMLMap => contentIn(document, document.contents as YAMLMap, place);

/** Returns the object at a location, and creates it if it is missing. */
const contentIn = (document: Document, parent: YAMLMap, {list, name, field}: Place): YAMLMap => {
  let entries = parent.get(list);
  if (!isSeq(entries)) {
    entries = new YAMLSeq();
    parent.set(list, entries);
  }
  const seq = entries as YAMLSeq;
  if (seq.items.length === 0) seq.flow = false;
  let entry = seq.items.find(item => isMap(item) && item.get('name') === name) as YAMLMap | undefined;
  if (!entry) {
    entry = document.createNode({name: textNode(name)}) as YAMLMap;
    seq.add(entry);
  }
  const content = entry.get(field);
  if (isMap(content)) return content;
  const made = document.createNode({}) as YAMLMap;
  made.flow = false;
  entry.set(field, made);
  return made;
};

const setAll = (map: YAMLMap, values: Readonly<Record<string, string>>): void => {
  for (const [key, value] of Object.entries(values)) {
    const node = textNode(value);
    const before = map.get(key, true);
    if (before?.comment) node.comment = before.comment;
    map.set(key, node);
  }
};

/** A string, in quotes if it would be something else without. */
const textNode = (text: string): Scalar<string> => {
  const node = new Scalar(text);
  node.type = isAmbiguous(text) ? Scalar.QUOTE_DOUBLE : Scalar.PLAIN;
  return node;
};
