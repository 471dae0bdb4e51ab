// Random requests to a server: mostly paths that exist, with queries and headers that are nearly right.
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import type {Chance} from '#test/apiserver/fuzz-requests.js';
import {Target} from '#test/sweep/requests.js';
import type {SweepServer} from '#test/sweep/server.js';
import {aPatch, changed, encoded, type Encoded} from './bodies.js';

export interface FuzzRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly user?: string;
}

const names = [
  'one',
  'one',
  'two',
  'default',
  'a',
  '..',
  '%2e%2e',
  '%00',
  '%2f',
  'x'.repeat(260),
  '%F0%9F%98%80',
  '__proto__',
  'constructor',
  ':',
  'A',
  '%',
  '~',
];
const queries: readonly (readonly [string, readonly string[]])[] = [
  ['dryRun', ['All', 'All', 'x', '']],
  ['fieldManager', ['m', '', 'x'.repeat(200), '%00']],
  ['fieldValidation', ['Strict', 'Warn', 'Ignore', 'x']],
  ['force', ['true', 'false', 'x']],
  ['labelSelector', ['a=b', 'a in (b,c)', '!a', 'a>1', ',', 'a%2Fb', '__proto__', 'a'.repeat(3000), 'a in (']],
  [
    'fieldSelector',
    [
      'metadata.name=one',
      'metadata.name!=one',
      'spec.nodeName=x',
      'type!=x\\,metadata.name=one',
      '=',
      'a=b=c',
      '\\',
      'status.phase=Running',
    ],
  ],
  ['limit', ['1', '0', '-1', 'x', '500', '9999999999999999999']],
  ['continue', ['x', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0', '', 'e30']],
  ['resourceVersion', ['0', '1', '', 'x', '-1', '5']],
  ['resourceVersionMatch', ['Exact', 'NotOlderThan', 'x']],
  ['watch', ['true', '0', 'x']],
  ['sendInitialEvents', ['true', 'x']],
  ['allowWatchBookmarks', ['true']],
  ['timeoutSeconds', ['1', '-1', 'x', '99999999999']],
  ['timeout', ['1s', '0.s000s000s000s000s000s000s000s000s000s000s000s000s000n', '-1h', '5', 'x', '1e9h']],
  ['gracePeriodSeconds', ['0', '-1', 'x', '99999999999']],
  ['propagationPolicy', ['Orphan', 'Foreground', 'Background', 'x']],
  ['orphanDependents', ['true', 'x']],
  ['pretty', ['true', 'x']],
  ['includeObject', ['None', 'Object', 'x']],
  ['command', ['ls', '%00']],
  ['container', ['c', '..']],
  ['ports', ['80', '-1', '99999999']],
  ['stdin', ['true']],
  ['tailLines', ['1', '-1', 'x']],
];
const accepts = [
  'application/json',
  'application/yaml',
  'application/cbor',
  'application/vnd.kubernetes.protobuf',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  '*/*',
  'text/html',
  ';;q=,',
];
const others = [
  '/',
  '/api',
  '/apis',
  '/version',
  '/healthz',
  '/livez',
  '/readyz/ping',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/api/v1',
  '/debug/pprof/',
  '/logs/',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
  '/api/v1/x',
  '//',
  '/%',
  '/apis/x/y/z',
  '/configz',
  '/flagz',
  '/statusz',
];
const subresources = [
  'status',
  'scale',
  'approval',
  'finalize',
  'log',
  'exec',
  'attach',
  'portforward',
  'proxy',
  'proxy/x',
  'eviction',
  'binding',
  'token',
  'ephemeralcontainers',
  'resize',
  'x',
  'status/x',
];

/** The requests of one generator, about the kinds that a server has. */
export class Requests {
  readonly #chance: Chance;
  readonly #server: SweepServer;
  readonly #targets: readonly Target[];

  constructor(chance: Chance, server: SweepServer) {
    this.#chance = chance;
    this.#server = server;
    this.#targets = [...server.registry.served]
      .filter(({resource, kind}: ServedResource) => !resource.definition.virtual && kind.kind !== 'Namespace')
      .map(served => new Target(server, served));
  }

  next(): FuzzRequest {
    const chance = this.#chance;
    const target = chance.of(this.#targets);
    const pick = chance.upTo(99);
    if (pick < 3) return this.#sent('GET', chance.of(others), undefined);
    if (pick < 35) return this.#sent('POST', target.collection, this.#body(target));
    if (pick < 50) return this.#sent('PATCH', this.#item(target), aPatch(chance, target.sample));
    if (pick < 65) return this.#sent('PUT', this.#item(target), this.#body(target));
    if (pick < 80) return this.#sent('GET', chance.is(0.4) ? target.collection : this.#item(target), undefined);
    if (pick < 90)
      return this.#sent('DELETE', chance.is(0.1) ? target.collection : this.#item(target), chance.is(0.3) ? this.#options() : undefined);
    if (pick < 96) return this.#upgrade(target);
    return this.#sent(
      chance.of(['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'POST', 'get', 'X']),
      chance.is(0.5) ? target.collection : this.#item(target),
      this.#body(target),
    );
  }

  #body(target: Target): Encoded {
    return encoded(this.#chance, this.#chance.is(0.3) ? target.sample : changed(this.#chance, target.sample), this.#server.naming);
  }

  #options(): Encoded {
    return encoded(
      this.#chance,
      changed(this.#chance, {kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background', preconditions: {uid: 'x'}}),
      this.#server.naming,
    );
  }

  #item({item, collection}: Target): string {
    const chance = this.#chance;
    const at = chance.is(0.75) ? item : `${collection}/${chance.of(names)}`;
    const path = chance.is(0.15) ? `${at}/${chance.of(subresources)}` : at;
    return chance.is(0.03)
      ? path.replace(
          '/namespaces/default',
          chance.of(['', '/namespaces/..', '/namespaces//', '/namespaces/%2f', '/watch/namespaces/default']),
        )
      : path;
  }

  #query(): string {
    const chance = this.#chance;
    if (chance.is(0.5)) return '';
    const terms = Array.from({length: 1 + chance.upTo(2)}, () => {
      const [name, values] = chance.of(queries);
      const value = chance.of(values);
      return `${name}=${chance.is(0.9) ? encodeURIComponent(value) : value.replaceAll(/[^\x21-\x7e]/g, '')}`;
    });
    return `?${terms.join('&')}`;
  }

  #sent(method: string, url: string, body: Encoded | undefined, more: Readonly<Record<string, string>> = {}): FuzzRequest {
    const chance = this.#chance;
    return {
      method,
      url: `${url}${this.#query()}`,
      headers: {
        ...(body?.type ? {'content-type': body.type} : {}),
        ...(chance.is(0.2) ? {accept: chance.of(accepts)} : {}),
        ...(chance.is(0.03)
          ? {
              [chance.of(['if-none-match', 'audit-id', 'origin', 'accept-encoding', 'x-remote-user', 'impersonate-user'])]: chance.of([
                'a',
                'gzip',
                '__proto__',
                '',
              ]),
            }
          : {}),
        ...more,
      },
      ...(body ? {body: body.bytes} : {}),
      ...(chance.is(0.03) ? {user: 'nobody'} : {}),
    };
  }

  #upgrade(target: Target): FuzzRequest {
    const chance = this.#chance;
    const protocol = chance.of(['websocket', 'SPDY/3.1', 'h2c', 'x']);
    const path = chance.is(0.8)
      ? `/api/v1/namespaces/default/pods/one/${chance.of(subresources)}`
      : `${target.item}/${chance.of(subresources)}`;
    return this.#sent(chance.of(['GET', 'POST']), path, undefined, {
      connection: 'Upgrade',
      upgrade: protocol,
      ...(protocol === 'websocket'
        ? {'sec-websocket-key': chance.of(['dGhlIHNhbXBsZSBub25jZQ==', 'x']), 'sec-websocket-version': chance.of(['13', '1'])}
        : {}),
      ...(chance.is(0.5)
        ? {'sec-websocket-protocol': chance.of(['v5.channel.k8s.io', 'v4.base64.channel.k8s.io', 'SPDY/3.1+portforward.k8s.io', 'x', ','])}
        : {}),
      ...(chance.is(0.5) ? {'x-stream-protocol-version': chance.of(['v4.channel.k8s.io', 'portforward.k8s.io', 'x'])} : {}),
    });
  }
}
