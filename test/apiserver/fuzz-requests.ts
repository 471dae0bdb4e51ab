// Random requests: paths, methods, queries, headers and bodies, most of them nearly right.
import {naming} from '#src/api/naming.js';
import {encodeCbor} from '#src/schema/cbor/encode.js';
import {seededRandom, type Random} from '#src/base/random.js';
import {samples} from './samples.js';

export const words = naming('plat');
const odd = [
  '',
  '.',
  '..',
  '/',
  '%',
  '%2F',
  '%2e%2e',
  '%00',
  '%zz',
  '%F0%9F%98%80',
  '__proto__',
  'constructor',
  'toString',
  'a b',
  'a,b',
  '~',
  '0',
  '-1',
  '1e9',
  'x'.repeat(3000),
  '\u{1F600}',
  'null',
];

const methods = [
  'GET',
  'GET',
  'GET',
  'POST',
  'POST',
  'PUT',
  'PUT',
  'PATCH',
  'PATCH',
  'DELETE',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'TRACE',
  '__PROTO__',
  'CONSTRUCTOR',
  'get',
];

const groups = [
  'api/v1',
  'api/v1',
  'apis/certificates.plat.io/v1',
  'apis/rbac.authorization.plat.io/v1',
  'apis/coordination.plat.io/v1',
  'apis/events.plat.io/v1',
  'apis/authentication.plat.io/v1',
  'apis/authorization.plat.io/v1',
  'api',
  'apis',
  'apis/none/v1',
  'apis//v1',
];

const plurals = [
  'configmaps',
  'secrets',
  'namespaces',
  'nodes',
  'events',
  'serviceaccounts',
  'certificatesigningrequests',
  'roles',
  'rolebindings',
  'clusterroles',
  'clusterrolebindings',
  'leases',
  'tokenreviews',
  'subjectaccessreviews',
  'selfsubjectreviews',
  'watch',
  'watch/configmaps',
  'nothing',
];

const queries = [
  'watch',
  'resourceVersion',
  'resourceVersionMatch',
  'limit',
  'continue',
  'labelSelector',
  'fieldSelector',
  'timeoutSeconds',
  'sendInitialEvents',
  'allowWatchBookmarks',
  'dryRun',
  'fieldManager',
  'fieldValidation',
  'force',
  'pretty',
  'propagationPolicy',
  'gracePeriodSeconds',
  'orphanDependents',
  'includeObject',
  'timeout',
  'exclude',
  'verbose',
];

const values = [
  '1',
  'true',
  'false',
  '0',
  'All',
  'Strict',
  'Ignore',
  'Exact',
  'NotOlderThan',
  'Orphan',
  'Foreground',
  'metadata.name=a',
  'metadata.name!=a,metadata.namespace=default',
  'spec.signerName=x',
  'a in (b,c),!d',
  'a>1',
  'None',
  'Object',
  '5s',
  'eyJ2IjoibWV0YS5wbGF0LmlvL3YxIiwicnYiOjUsInN0YXJ0IjoiYVx1MDAwMCJ9',
  ...odd,
];

const medias = [
  'application/json',
  'application/yaml',
  'application/vnd.plat.protobuf',
  'application/vnd.kubernetes.protobuf',
  'application/cbor',
  'application/apply-patch+cbor',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/json;as=Table;v=v1;g=meta.plat.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.plat.io,application/json',
  'text/html',
  '*/*',
  '__proto__',
  ';;,',
  'application/json;q=x',
];

const fields = [
  'metadata',
  'spec',
  'status',
  'data',
  'rules',
  'roleRef',
  'subjects',
  'type',
  'kind',
  'apiVersion',
  '$patch',
  '$deleteFromPrimitiveList/finalizers',
  '$setElementOrder/ownerReferences',
  '$retainKeys',
  'involvedObject',
  'eventTime',
  'series',
  'nothing',
  '__proto__',
  'constructor',
];

const metaFields = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'managedFields',
  'deletionTimestamp',
  'creationTimestamp',
  'generation',
  '__proto__',
];

export class Chance {
  readonly #random: Random;
  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }
  of<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.float() * list.length)]!;
  }
  is(probability: number): boolean {
    return this.#random.float() < probability;
  }
  upTo(most: number): number {
    return Math.floor(this.#random.float() * (most + 1));
  }
}

const value = (chance: Chance, depth = 0): unknown => {
  if (depth > 4 || chance.is(0.5))
    return chance.of<unknown>([
      'a',
      'b',
      '',
      0,
      1,
      -1,
      1e300,
      true,
      false,
      null,
      '2026-01-01T00:00:00Z',
      'Yg==',
      '\ud800',
      'x'.repeat(300),
      ...odd,
    ]);
  if (chance.is(0.4)) return Array.from({length: chance.upTo(3)}, () => value(chance, depth + 1));
  return record(chance, chance.is(0.5) ? metaFields : fields, depth + 1);
};

/** Own properties whatever they are called, as a parser makes them. */
const record = (chance: Chance, keys: readonly string[], depth: number): object =>
  JSON.parse(
    `{${Array.from({length: chance.upTo(4)}, () => `${JSON.stringify(chance.of(keys))}:${JSON.stringify(value(chance, depth)) ?? 'null'}`).join()}}`,
  ) as object;

/** A body, half of the time of the kind it is sent to. */
export const bodyOf = (chance: Chance, fitting: object | undefined): unknown => {
  const pick = chance.upTo(9);
  const any = chance.of(Object.values(samples(words)));
  const sample = fitting && chance.is(0.5) ? fitting : any;
  const metadata = {name: chance.of(['a', 'b', 'c', chance.of(odd)]), ...(chance.is(0.3) ? record(chance, metaFields, 1) : {})};
  if (pick < 4) return {metadata, ...sample, ...(chance.is(0.3) ? record(chance, fields, 1) : {})};
  if (pick === 4)
    return Array.from({length: chance.upTo(4)}, () => ({
      op: chance.of(['add', 'remove', 'replace', 'move', 'copy', 'test', 'x']),
      path: chance.of(['/metadata/labels/a', '/data', '', '/', '/a/-', '/metadata/__proto__/x', '~2']),
      from: '/metadata',
      value: value(chance),
    }));
  if (pick === 5)
    return chance.of([
      '',
      '{',
      '[1',
      'null',
      '"a"',
      'a: [b',
      '&a [*a]',
      'a: &a [x]\nb: [*a, *a]',
      '\0',
      '{"metadata":{"name":"a"},"metadata":null}',
      '['.repeat(2000),
      '{"a":'.repeat(2000),
    ]);
  if (pick === 6 && chance.is(0.5)) return encodeCbor(JSON.parse(JSON.stringify({metadata, ...sample, ...record(chance, fields, 1)})));
  if (pick === 6) return Buffer.from(Array.from({length: chance.upTo(60)}, () => chance.upTo(255)));
  if (pick === 7)
    return {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      ...(chance.is(0.5) ? {propagationPolicy: chance.of(values)} : {preconditions: value(chance)}),
    };
  return value(chance);
};

/** Mostly a path that exists, sometimes one of random parts. */
export const pathOf = (chance: Chance, collections: readonly string[]): string => {
  const name = () => chance.of(['a', 'b', 'c', 'default', chance.is(0.2) ? chance.of(odd) : 'a']);
  const rest = [
    ...(chance.is(0.7) ? [name()] : []),
    ...(chance.is(0.15) ? [chance.of(['status', 'approval', 'finalize', 'scale', 'constructor', '__proto__', 'a/b'])] : []),
  ];
  if (chance.is(0.85)) return [chance.of(collections), ...rest].join('/');
  if (chance.is(0.3))
    return `/${chance.of(['healthz', 'livez/ping', 'metrics', 'version', 'openapi/v3', '', '//', 'a/b', 'api', '%', ...odd])}`;
  return `/${[chance.of(groups), ...(chance.is(0.6) ? ['namespaces', name()] : []), chance.of(plurals), ...rest].join('/')}`;
};

const known = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
export const methodOf = (chance: Chance): string => {
  const method = chance.of(methods);
  return known.has(method) || chance.is(0.2) ? method : 'GET';
};

export const queryOf = (chance: Chance): string => {
  const terms = Array.from(
    {length: chance.is(0.5) ? 0 : chance.upTo(3)},
    () => `${chance.of(queries)}=${chance.is(0.8) ? encodeURIComponent(chance.of(values)) : chance.of(values)}`,
  );
  return terms.length > 0 ? `?${terms.join('&')}` : '';
};

export const headersOf = (chance: Chance): Record<string, string> => ({
  ...(chance.is(0.5) ? {'content-type': chance.of(medias)} : {}),
  ...(chance.is(0.3) ? {accept: chance.of(medias)} : {}),
  ...(chance.is(0.1) ? {[chance.of(['audit-id', 'impersonate-user', 'user-agent', 'if-none-match'])]: chance.of(odd)} : {}),
  ...(chance.is(0.03)
    ? {'impersonate-user': 'jane', [chance.of(['impersonate-group', 'impersonate-uid', 'impersonate-extra-__proto__'])]: chance.of(odd)}
    : {}),
});
