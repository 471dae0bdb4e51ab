// The records of image pulls in the data directory: of pulls in progress and of pulled images. Each is a file named by
// the hash of its subject.

import {createHash} from 'node:crypto';
import {join} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {Host} from '#src/platlet/host/host.js';
import type {PullCredentials, PulledRecord, PullSecret, PullServiceAccount} from './pull-record.js';

export interface PullRecordsParts {
  readonly host: Pick<Host, 'list' | 'makeFolder' | 'read' | 'removeFile' | 'rename' | 'status' | 'writeFile'>;
  readonly naming: Naming;
  /** The data directory of the agent. */
  readonly root: string;
}

const folderMode = 0o700;
const fileMode = 0o600;
const filePrefix = 'sha256-';
const temporarySuffix = '.tmp';
/** A larger file was not written by the agent. */
const maxBytes = 1 << 20;

const fileName = (subject: string): string => `${filePrefix}${createHash('sha256').update(subject).digest('hex')}`;

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Throws unless an object has only these fields, each of the given type if present. */
const checkFields = (value: unknown, types: Readonly<Record<string, string>>, required: readonly string[] = []): Fields => {
  if (!isObject(value)) throw new Error('no object');
  for (const [name, field] of Object.entries(value)) {
    if (!Object.hasOwn(types, name)) throw new Error(`unknown field ${JSON.stringify(name)}`);
    if (types[name] === 'array' ? !Array.isArray(field) : typeof field !== types[name]) throw new Error(`invalid field ${name}`);
  }
  for (const name of required) if (value[name] === undefined) throw new Error(`missing field ${name}`);
  return value;
};

const coordinates = {uid: 'string', namespace: 'string', name: 'string'} as const;

const parseCredentials = (value: unknown): PullCredentials => {
  const {kubernetesSecrets, kubernetesServiceAccounts} = checkFields(value, {
    kubernetesSecrets: 'array',
    kubernetesServiceAccounts: 'array',
    nodePodsAccessible: 'boolean',
  });
  for (const each of (kubernetesSecrets ?? []) as PullSecret[])
    checkFields(each, {...coordinates, credentialHash: 'string'}, [...Object.keys(coordinates), 'credentialHash']);
  for (const each of (kubernetesServiceAccounts ?? []) as PullServiceAccount[]) checkFields(each, coordinates, Object.keys(coordinates));
  return value as PullCredentials;
};

/** The kinds of records. */
const kinds = {intent: 'ImagePullIntent', pulled: 'ImagePulledRecord'} as const;
/** Kinds of an earlier version and of the other naming are read, too. */
const knownVersion = /\.config\.[a-z0-9.]+\/v1(?:alpha1|beta1)$/;

/** Parses a record. Throws if it is corrupt. */
const parseNote = (text: Buffer, kind: string, types: Readonly<Record<string, string>>): Fields => {
  const note = checkFields(JSON.parse(text.toString()), {kind: 'string', apiVersion: 'string', ...types}, ['kind', 'apiVersion']);
  if (note['kind'] !== kind || !knownVersion.test(String(note['apiVersion'])))
    throw new Error(`no ${kind}: ${String(note['kind'])} of ${String(note['apiVersion'])}`);
  return note;
};

const parsePulled = (text: Buffer): PulledRecord => {
  const {lastUpdatedTime, imageRef, credentialMapping} = parseNote(text, kinds.pulled, {
    lastUpdatedTime: 'string',
    imageRef: 'string',
    credentialMapping: 'object',
  });
  if (typeof imageRef !== 'string') throw new Error('missing field imageRef');
  const mapping = credentialMapping ?? {};
  if (!isObject(mapping)) throw new Error('invalid field credentialMapping');
  return {
    updatedAt: parseTime(lastUpdatedTime as string | undefined) ?? 0,
    imageRef,
    credentials: Object.fromEntries(Object.entries(mapping).map(([name, credentials]) => [name, parseCredentials(credentials)])),
  };
};

const parseIntent = (text: Buffer): string => {
  const {image} = parseNote(text, kinds.intent, {image: 'string'});
  if (typeof image !== 'string') throw new Error('missing field image');
  return image;
};

/** Reads and writes the records. */
export class PullRecords {
  readonly #parts: PullRecordsParts;
  readonly #pulling: string;
  readonly #pulled: string;

  private constructor(parts: PullRecordsParts) {
    this.#parts = parts;
    const folder = join(parts.root, 'image_manager');
    this.#pulling = join(folder, 'pulling');
    this.#pulled = join(folder, 'pulled');
  }

  /** Creates the directories if they are missing. */
  static async open(parts: PullRecordsParts): Promise<PullRecords> {
    const records = new PullRecords(parts);
    for (const folder of [records.#pulling, records.#pulled]) await parts.host.makeFolder(folder, folderMode);
    return records;
  }

  /** Rejects if the record is corrupt. */
  async isPulling(image: string): Promise<boolean> {
    const text = await this.#read(join(this.#pulling, fileName(image)));
    return text !== undefined && parseIntent(text) === image;
  }

  writeIntent(image: string): Promise<void> {
    return this.#write(this.#pulling, fileName(image), {kind: kinds.intent, apiVersion: this.#apiVersion, image});
  }

  removeIntent(image: string): Promise<void> {
    return this.#parts.host.removeFile(join(this.#pulling, fileName(image)));
  }

  /**
   * Returns the images whose pulls are in progress or were interrupted. `damaged` is called with the path of each
   * corrupt record.
   */
  async intents(damaged: (path: string, error: unknown) => void): Promise<string[]> {
    const found: string[] = [];
    for (const name of await this.#names(this.#pulling)) {
      const path = join(this.#pulling, name);
      try {
        const text = await this.#read(path);
        if (text) found.push(parseIntent(text));
      } catch (error) {
        damaged(path, error);
      }
    }
    return found;
  }

  /** Rejects if the record is corrupt. */
  async pulled(imageRef: string): Promise<PulledRecord | undefined> {
    const text = await this.#read(join(this.#pulled, fileName(imageRef)));
    const record = text && parsePulled(text);
    return record?.imageRef === imageRef ? record : undefined;
  }

  writePulled({updatedAt, imageRef, credentials}: PulledRecord): Promise<void> {
    return this.#write(this.#pulled, fileName(imageRef), {
      kind: kinds.pulled,
      apiVersion: this.#apiVersion,
      lastUpdatedTime: wireTime(updatedAt),
      imageRef,
      ...(Object.keys(credentials).length > 0 ? {credentialMapping: credentials} : {}),
    });
  }

  /**
   * Removes the records of other images that are corrupt or not newer than `since`, in ms since the epoch. `failed` is
   * called for each that cannot be removed.
   */
  async removeOthers(imageRefs: readonly string[], since: number, failed: (path: string, error: unknown) => void): Promise<void> {
    const kept = new Set(imageRefs.map(fileName));
    for (const name of await this.#names(this.#pulled)) {
      if (kept.has(name)) continue;
      const path = join(this.#pulled, name);
      const updatedAt = await this.#read(path)
        .then(text => (text ? parsePulled(text).updatedAt : 0))
        .catch(() => 0);
      if (updatedAt <= since) await this.#parts.host.removeFile(path).catch((error: unknown) => failed(path, error));
    }
  }

  /** Returns the number of records of each kind. */
  async counts(): Promise<{readonly intents: number; readonly pulled: number}> {
    const [intents, pulled] = await Promise.all([this.#names(this.#pulling), this.#names(this.#pulled)]);
    return {intents: intents.length, pulled: pulled.length};
  }

  get #apiVersion(): string {
    const {agent, apiSuffix} = this.#parts.naming;
    return `${agent}.config.${apiSuffix}/v1beta1`;
  }

  async #read(path: string): Promise<Buffer | undefined> {
    const {host} = this.#parts;
    const found = await host.status(path);
    if (found && found.bytes > maxBytes) throw new Error('the file is too large');
    return found && host.read(path);
  }

  async #write(folder: string, name: string, note: object): Promise<void> {
    const {host} = this.#parts;
    const path = join(folder, name);
    const temporary = `${path}${temporarySuffix}`;
    await host.makeFolder(folder, folderMode);
    try {
      await host.writeFile(temporary, `${JSON.stringify(note)}\n`, fileMode);
      await host.rename(temporary, path);
    } catch (error) {
      await host.removeFile(temporary).catch(() => {});
      throw error;
    }
  }

  async #names(folder: string): Promise<string[]> {
    return (await this.#parts.host.list(folder)).filter(name => name.startsWith(filePrefix) && !name.endsWith(temporarySuffix));
  }
}
