import type {KubeObject} from '#src/api/types.js';
import {encodeCbor} from '#src/schema/cbor/encode.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import {names, samples} from '#test/apiserver/samples.js';
import type {Collection} from './fields.js';
import type {SweepServer} from './server.js';

/** A request of the sweep. */
export interface Call {
  /** For example `create`, `merge patch` or `update of status`. */
  readonly verb: string;
  readonly method: string;
  readonly url: string;
  /** Encoded in advance, so that the client's work is not measured. */
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The largest body that the server accepts. */
export const largestBody = 3 * 1024 * 1024;

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** The endpoints of a kind, and required fields of its objects. */
export class Target {
  readonly served: ServedResource;
  readonly collection: string;
  readonly item: string;
  readonly sample: KubeObject;
  readonly #server: SweepServer;

  constructor(server: SweepServer, served: ServedResource) {
    const {kind} = served;
    const {naming} = server;
    const group = naming.group(kind.group);
    const name = names[kind.kind]?.['one'] ?? 'one';
    const known = samples(naming, name);
    this.#server = server;
    this.served = served;
    this.collection = `${group ? `/apis/${group}` : '/api'}/${kind.version}/${kind.namespaced ? 'namespaces/default/' : ''}${kind.plural}`;
    this.item = `${this.collection}/${name}`;
    this.sample = {
      apiVersion: naming.apiVersion(kind.group, kind.version),
      kind: kind.kind,
      metadata: {name},
      ...(known[`${group}/${kind.kind}`] ?? known[kind.kind]),
    };
  }

  get label(): string {
    return this.collection.replace('/namespaces/default', '');
  }

  /** Whether objects of the kind are stored. */
  get isStored(): boolean {
    const {definition} = this.served.resource;
    return !definition.review && !definition.virtual && !definition.custom?.refusesCreation;
  }

  create(body: Record<string, unknown>): Call {
    return {verb: 'create', method: 'POST', url: this.collection, body: json(body)};
  }

  /** Returns all further requests with this body that do not change stored objects. */
  async rest(body: Record<string, unknown>, collection: Collection): Promise<Call[]> {
    const calls = [...(await this.#otherForms(body)), ...(this.isStored ? this.#changes(body, collection) : [])];
    return calls.filter(({body: {length} = Buffer.alloc(1)}) => length > 0 && length <= largestBody);
  }

  /** Returns the body in other media types. */
  async #otherForms(body: Record<string, unknown>): Promise<Call[]> {
    const {naming} = this.#server;
    const {kind} = this.served;
    const codec = await protobufCodec();
    const url = `${this.collection}?dryRun=All`;
    const form = (verb: string, media: string, bytes: Buffer): Call => ({
      verb,
      method: 'POST',
      url,
      body: bytes,
      headers: {'content-type': media},
    });
    return [
      form('create from CBOR', 'application/cbor', encodeCbor(body)),
      form('create from YAML', 'application/yaml', json(body)),
      ...(codec.hasProtobuf(naming.apiVersion(kind.group, kind.version), kind.kind, naming)
        ? [form('create from protobuf', naming.protobufMediaType, protobufOf(codec, body, naming))]
        : []),
    ];
  }

  #changes(body: Record<string, unknown>, {path}: Collection): Call[] {
    const url = `${this.item}?dryRun=All`;
    const {definition} = this.served.resource;
    const {kind: _, apiVersion: __, metadata, ...rest} = body as KubeObject & Record<string, unknown>;
    const {name: ___, ...meta} = metadata as Record<string, unknown>;
    const patch = {metadata: meta, ...rest};
    const fields = path.map(step => (step === 'item' ? 0 : step === 'value' ? 'k' : step.field));
    const patched = (verb: string, type: string, value: unknown, query = ''): Call => ({
      verb,
      method: 'PATCH',
      url: `${url}${query}`,
      body: json(value),
      headers: {'content-type': `application/${type}`},
    });
    const parts = Object.entries(definition.subresources ?? {}).filter(([, {view, verbs}]) => !view && !verbs);
    return [
      {verb: 'update', method: 'PUT', url, body: json(inReverse(body, fields))},
      ...parts.map(([name]): Call => ({
        verb: `update of ${name}`,
        method: 'PUT',
        url: `${this.item}/${name}?dryRun=All`,
        body: json(body),
      })),
      patched('merge patch', 'merge-patch+json', patch),
      ...(definition.custom ? [] : [patched('strategic patch', 'strategic-merge-patch+json', inReverse(patch, fields))]),
      patched('JSON patch', 'json-patch+json', insertions(body, fields)),
      patched('apply', 'apply-patch+yaml', body, '&fieldManager=sweep&force=true'),
      {verb: 'get as a table', method: 'GET', url: this.item, headers: {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io'}},
    ];
  }
}

const protobufOf = (
  codec: Awaited<ReturnType<typeof protobufCodec>>,
  body: Record<string, unknown>,
  naming: SweepServer['naming'],
): Buffer => {
  try {
    return Buffer.from(codec.encodeObject(body, naming));
  } catch {
    return Buffer.alloc(0);
  }
};

const inReverse = (body: Record<string, unknown>, fields: readonly (string | number)[]): Record<string, unknown> => {
  const copy = structuredClone(body);
  let holder: unknown = copy;
  for (const field of fields.slice(0, -1)) holder = (holder as Record<string | number, unknown> | undefined)?.[field];
  const last = (holder as Record<string | number, unknown> | undefined)?.[fields.at(-1)!];
  if (Array.isArray(last)) last.reverse();
  return copy;
};

/** Inserts at the front of the list as often as a patch allows. */
const insertions = (body: Record<string, unknown>, fields: readonly (string | number)[]): object[] => {
  const pointer = fields.map(field => `/${field}`).join('');
  let value: unknown = body;
  for (const field of fields) value = (value as Record<string | number, unknown> | undefined)?.[field];
  if (Array.isArray(value))
    return [
      {op: 'add', path: pointer, value},
      ...Array.from({length: 9_000}, (_, index) => ({
        op: 'add',
        path: `${pointer}/0`,
        value: (value as unknown[])[index % (value as unknown[]).length],
      })),
    ].slice(0, 9_001);
  const keys = Object.keys((value as object | undefined) ?? {});
  return [{op: 'add', path: pointer, value}, ...keys.slice(0, 9_000).map(key => ({op: 'replace', path: `${pointer}/${key}`, value: 'x'}))];
};
