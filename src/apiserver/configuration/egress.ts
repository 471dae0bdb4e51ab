// The file of `--egress-selector-config-file`: an `EgressSelectorConfiguration`, which says how connections to the
// control plane, to the nodes' network and to etcd are made.

import {existsSync} from 'node:fs';
import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {readConfiguration} from './document.js';
import {list, record, text} from './fields.js';

/** The networks that are selected. */
export const egressNames = ['cluster', 'controlplane', 'etcd'] as const;
export type EgressName = (typeof egressNames)[number];

interface TlsFields {
  /** Paths of files. */
  readonly caBundle?: string;
  readonly clientKey?: string;
  readonly clientCert?: string;
}

interface TransportFields {
  readonly tcp?: {readonly url?: string; readonly tlsConfig?: TlsFields};
  readonly uds?: {readonly udsName?: string};
}

interface ConnectionFields {
  readonly proxyProtocol?: string;
  readonly transport?: TransportFields;
}

/** How connections to a network are made. */
export type EgressConnection =
  | {readonly kind: 'direct'}
  | {readonly kind: 'tcp'; readonly url: string; readonly tls: TlsFields | undefined}
  | {readonly kind: 'socket'; readonly protocol: 'http_connect' | 'grpc'; readonly socket: string};

interface SelectionFields {
  readonly name?: string;
  readonly connection?: ConnectionFields;
}

const fields = {
  egressSelections: list(
    record({
      name: text,
      connection: record({
        proxyProtocol: text,
        transport: record({
          tcp: record({url: text, tlsConfig: record({caBundle: text, clientKey: text, clientCert: text})}),
          uds: record({udsName: text}),
        }),
      }),
    }),
  ),
};

const protocols = ['Direct', 'HTTPConnect', 'GRPC'] as const;

/** Reads the file's content: the connections by network. Throws an error of one line with all that is wrong. */
export const readEgressConfiguration = (source: string, naming: Naming): ReadonlyMap<EgressName, EgressConnection> => {
  const {egressSelections: selections = []} = readConfiguration<{readonly egressSelections?: readonly SelectionFields[]}>(source, [
    {group: naming.group('apiserver'), versions: ['v1beta1', 'v1alpha1'], kind: 'EgressSelectorConfiguration', fields},
  ]);
  const errors = [...selections.flatMap(({connection = {}}) => [...connectionErrors(connection)]), ...nameErrors(selections)];
  if (errors.length > 0) {
    const texts = errors.map(({path, detail}) => `${path}: ${detail}`);
    throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  }
  return new Map(selections.map(({name, connection}) => [name!.toLowerCase() as EgressName, connectionOf(connection!)]));
};

const connectionOf = ({proxyProtocol, transport}: ConnectionFields): EgressConnection => {
  if (proxyProtocol === 'Direct') return {kind: 'direct'};
  const {tcp, uds} = transport!;
  if (uds) return {kind: 'socket', protocol: proxyProtocol === 'GRPC' ? 'grpc' : 'http_connect', socket: uds.udsName!};
  return {kind: 'tcp', url: tcp!.url!, tls: tcp!.tlsConfig};
};

const at = 'service.connection';

function* nameErrors(selections: readonly SelectionFields[]): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [index, {name = ''}] of selections.entries()) {
    const canonical = name.toLowerCase();
    if (seen.has(canonical)) yield duplicate(`${at}[${index}]`, canonical);
    else if (!(egressNames as readonly string[]).includes(canonical)) yield notSupported(at, canonical, egressNames);
    seen.add(canonical);
  }
}

function* connectionErrors({proxyProtocol = '', transport}: ConnectionFields): Iterable<FieldError> {
  switch (proxyProtocol) {
    case 'Direct':
      if (transport) yield invalid(`${at}.transport`, 'direct', 'config must be absent for direct connect');
      break;
    case 'HTTPConnect':
      yield* httpConnectErrors(transport);
      break;
    case 'GRPC':
      if (!transport) yield required(`${at}.transport`, 'transport must be set for GRPC');
      else if (!transport.uds) yield required(`${at}.uds`, 'UDS must be set with GRPC');
      else yield* socketErrors(transport.uds);
      break;
    default:
      yield notSupported(`${at}.protocol`, proxyProtocol, protocols);
  }
}

function* httpConnectErrors(transport: TransportFields | undefined): Iterable<FieldError> {
  if (!transport) return yield required(`${at}.transport`, 'transport must be set for HTTPConnect');
  const {tcp, uds} = transport;
  if (tcp && uds) yield invalid(`${at}.tcp`, tcp, 'TCP and UDS cannot both be set');
  else if (tcp) yield* tcpErrors(tcp);
  else if (uds) yield* socketErrors(uds);
  else yield required(`${at}.tcp`, 'One of TCP or UDS must be set');
}

function* socketErrors({udsName}: NonNullable<TransportFields['uds']>): Iterable<FieldError> {
  if (!udsName) yield invalid(`${at}.udsName`, 'nil', 'must be present for UDS connections');
}

function* tcpErrors({url = '', tlsConfig}: NonNullable<TransportFields['tcp']>): Iterable<FieldError> {
  if (url.startsWith('http://')) {
    if (tlsConfig) yield invalid(`${at}.tlsConfig`, 'nil', 'config must not be present when using HTTP');
  } else if (url.startsWith('https://')) yield* tlsErrors(tlsConfig);
  else return yield invalid(`${at}.url`, url, 'supported connection protocols are http:// and https://');
  if (!URL.canParse(url)) yield invalid(`${at}.url`, url, 'must be a valid URL');
}

function* tlsErrors(tls: TlsFields | undefined): Iterable<FieldError> {
  if (!tls) return yield required(`${at}.tlsConfig`, 'TLSConfig must be present when using HTTPS');
  const {caBundle, clientCert, clientKey} = tls;
  const path = `${at}.tlsConfig`;
  if (caBundle && !existsSync(caBundle)) yield invalid(`${path}.caBundle`, caBundle, 'TLS config ca bundle does not exist');
  if (!clientCert) yield invalid(`${path}.clientCert`, 'nil', 'Using TLS requires clientCert');
  else if (!existsSync(clientCert)) yield invalid(`${path}.clientCert`, clientCert, 'TLS client cert does not exist');
  if (!clientKey) yield invalid(`${path}.clientKey`, 'nil', 'Using TLS requires requires clientKey');
  else if (!existsSync(clientKey)) yield invalid(`${path}.clientKey`, clientKey, 'TLS client key does not exist');
}
