import {kinds, type Kind} from '#src/api/kinds/index.js';
import {naming, type GroupToken} from '#src/api/naming.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import type {DescribedAddress, DescribedGroup} from '#src/schema/openapi/description.js';
import {systemClock} from '#src/base/clock.js';
import {OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {unpackDocument, type PackedDocument} from '#src/schema/openapi/packing.js';
import {WireReader} from '#src/schema/protobuf/wire-reader.js';
import {Schemas} from '#src/schema/builtin/schemas.js';

export type Json = Record<string, unknown>;

const stored = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const status = (kind: Kind): DescribedAddress => ({name: 'status', kind, verbs: ['get', 'patch', 'update']});
export const resource = (kind: Kind, subresources: readonly DescribedAddress[] = []) => ({
  name: kind.plural,
  kind,
  verbs: stored,
  subresources,
});

export const groups: readonly DescribedGroup[] = [
  {group: '', versions: [{version: 'v1', resources: [resource(kinds.configMaps), resource(kinds.namespaces, [status(kinds.namespaces)])]}]},
  {
    group: 'certificates',
    versions: [{version: 'v1', resources: [resource(kinds.certificateSigningRequests, [status(kinds.certificateSigningRequests)])]}],
  },
];

export const schemas = new Schemas();
export const documents = (name: 'plat' | 'kubernetes') =>
  new OpenApiDocuments({schemas, naming: naming(name), clock: systemClock, groups: () => groups, version: 'v1.35.0'});

export const bytesOf = async (document: Promise<PackedDocument> | undefined): Promise<Buffer> => unpackDocument((await document)!);
export const parsed = async (document: Promise<PackedDocument> | undefined): Promise<Json> =>
  JSON.parse(String(await bytesOf(document))) as Json;
export const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Json | undefined)?.[key], value);

export const crontabs: Kind = {
  group: 'stable.example-corp.com' as GroupToken,
  version: 'v1',
  kind: 'CronTab',
  listKind: 'CronTabs',
  plural: 'crontabs',
  singular: 'crontab',
  namespaced: true,
};

export const crontabSchema: JsonSchema = {
  type: 'object',
  description: 'Runs things.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['maybe', 'n'],
      oneOf: [{required: ['n']}, {required: ['free']}],
      'x-kubernetes-validations': [{rule: 'self.n != 0'}],
      properties: {
        n: {'x-kubernetes-int-or-string': true, default: 1},
        maybe: {type: 'string', nullable: true, pattern: '^a', format: 'date'},
        free: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: {a: {type: 'string'}}},
        list: {type: 'array', items: {type: 'string'}, 'x-kubernetes-list-type': 'set'},
        whole: {type: 'object', 'x-kubernetes-embedded-resource': true, properties: {a: {type: 'string'}}},
      },
    },
  },
};

export const customGroups = (source: JsonSchema | undefined = crontabSchema): DescribedGroup[] => [
  {
    group: crontabs.group,
    versions: [
      {
        version: 'v1',
        resources: [
          {
            ...resource(crontabs, [status(crontabs), {name: 'scale', kind: kinds.scales, verbs: ['get', 'patch', 'update']}]),
            schema: () => ({source, selectableFields: ['.spec.n']}),
          },
        ],
      },
    ],
  },
];

export const crontabDocument = 'apis/stable.example-corp.com/v1';

/** The named entries of a message's map: field `number` of the message at `path` within. */
export const namesIn = (bytes: Buffer, ...[number, ...inner]: number[]): string[] => {
  const reader = new WireReader(bytes);
  const found: string[] = [];
  while (reader.at < bytes.length) {
    const tag = reader.tag(bytes.length);
    if (tag >>> 3 !== number) reader.skip(tag & 7, bytes.length);
    else {
      const end = reader.length(bytes.length);
      const part = bytes.subarray(reader.at, end);
      found.push(...(inner.length > 0 ? namesIn(part, ...inner) : [part.toString()]));
      reader.at = end;
    }
  }
  return found;
};
