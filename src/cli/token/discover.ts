import {createHash, timingSafeEqual, X509Certificate} from 'node:crypto';
import {naming as namingOf, type Naming, type NamingName} from '#src/api/naming.js';
import {kinds} from '#src/api/kinds/index.js';
import {isForbidden, isNotFound} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {noMeter} from '#src/base/meter.js';
import {parseYaml} from '#src/base/yaml/parse.js';
import {connectedClient} from '#src/client/connected.js';
import {detachedSignature} from '#src/model/bootstrap-signature.js';
import {clusterInfoKey, clusterInfoName, parseToken, signatureKey, tokenPattern} from '#src/model/bootstrap-token.js';
import {certificatePem, parseCertificateBundle} from '#src/pki/certificate.js';
import {connect} from '#src/transport/client/http-connection.js';
import type {ServerTrust} from '#src/transport/settings.js';

export interface DiscoveryOptions {
  /** `host:port` or a URL. */
  readonly server: string;
  readonly token: string;
  /** Accepted public keys of the CA, as `sha256:HEX`; empty for any. */
  readonly hashes: readonly string[];
  readonly naming: NamingName | 'auto';
  readonly timeoutMs: number;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** An answer that does not change by asking again. */
class Distrust extends Error {}

const retryMs = 2_000;

/** Returns the SHA-256 hash of the public key of a certificate, as kubeadm writes it. */
export const publicKeyHash = (pem: string): string => {
  const key = new X509Certificate(pem).publicKey.export({type: 'spki', format: 'der'});
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
};

/** A cluster that the holder of a token trusts. */
export interface DiscoveredCluster {
  readonly server: string;
  readonly ca: string;
}

/** Returns a kubeconfig for a node's first start, with the token as its credentials. */
export const bootstrapKubeconfig = ({server, ca}: DiscoveredCluster, token: string): string => `apiVersion: v1
kind: Config
clusters:
- name: cluster
  cluster:
    server: ${server}
    certificate-authority-data: ${Buffer.from(ca).toString('base64')}
users:
- name: tls-bootstrap-token-user
  user:
    token: ${token}
contexts:
- name: tls-bootstrap-token-user@cluster
  context:
    cluster: cluster
    user: tls-bootstrap-token-user
current-context: tls-bootstrap-token-user@cluster
`;

/**
 * Discovers a cluster as kubeadm does: reads the cluster-info config map without knowing the server, verifies that the
 * token has signed it, checks the CA in it against the hashes, and reads it once more from a server with that CA.
 * Retries until the timeout what may come later, such as a signature.
 */
export const discover = async (options: DiscoveryOptions): Promise<DiscoveredCluster> => {
  const {clock, timeoutMs, signal} = options;
  const deadline = clock.monotonic() + timeoutMs;
  for (;;) {
    try {
      return await discoverOnce(options);
    } catch (error) {
      if (error instanceof Distrust || clock.monotonic() + retryMs > deadline) throw error;
    }
    await sleep(clock, retryMs, signal);
  }
};

const discoverOnce = async (options: DiscoveryOptions): Promise<DiscoveredCluster> => {
  const {token, hashes} = options;
  const parsed = parseToken(token);
  if (!parsed) throw new Distrust(`--token: the token is not of the form ${tokenPattern}`);
  const server = options.server.includes('://') ? options.server : `https://${options.server}`;
  const {content, naming} = await verified(await clusterInfoOf(server, {insecure: true}, options), parsed);
  const cluster = clusterOf(content);
  checkAuthority(cluster.ca, hashes);
  const again = await clusterInfoOf(server, {ca: {data: cluster.ca}}, {...options, naming: naming.name});
  if (again.configMap.data?.[clusterInfoKey(naming)] !== content)
    throw new Distrust('the cluster-info config map that a server with the CA of the cluster returned is another one');
  return cluster;
};

interface Found {
  readonly configMap: ConfigMap;
  readonly naming: Naming;
}

const clusterInfoOf = async (
  server: string,
  trust: ServerTrust,
  {naming: chosen, clock, userAgent, signal}: DiscoveryOptions,
): Promise<Found> => {
  await using connection = await connect({server, trust, identity: {}, source: 'the command line'}, {clock});
  const namings = chosen === 'auto' ? (['kubernetes', 'plat'] as const) : [chosen];
  let failure: unknown;
  for (const naming of namings.map(namingOf)) {
    const client = connectedClient(connection, {clock, meter: noMeter, userAgent, timeoutMs: 10_000, naming});
    try {
      const configMap = await client.resource(kinds.configMaps).get(clusterInfoName, {namespace: naming.publicNamespace, signal});
      return {configMap, naming};
    } catch (error) {
      failure ??= error;
      if (!isNotFound(error) && !isForbidden(error)) break;
    }
  }
  throw failure;
};

const verified = ({configMap: {data = {}}, naming}: Found, {id, secret}: {readonly id: string; readonly secret: string}) => {
  const key = clusterInfoKey(naming);
  const content = data[key];
  if (!content) throw new Error(`the cluster-info config map has no entry ${key}`);
  const signature = data[signatureKey(naming, id)];
  if (!signature)
    throw new Error(
      `the token id ${JSON.stringify(id)} is invalid for this cluster or it has expired: "plat token create" creates a new one`,
    );
  const expected = Buffer.from(detachedSignature(content, {id, key: secret}));
  const given = Buffer.from(signature);
  if (expected.length !== given.length || !timingSafeEqual(expected, given))
    throw new Distrust('the signature of the cluster-info config map is not by this token: the server cannot be trusted');
  return {content, naming};
};

/** Returns the cluster in the connection settings of a cluster-info config map. */
export const clusterOf = (content: string): DiscoveredCluster => {
  const {clusters = []} = (parseYaml(content).value ?? {}) as {
    readonly clusters?: readonly {readonly cluster?: Readonly<Record<string, unknown>>}[];
  };
  const {server, 'certificate-authority-data': ca} = clusters[0]?.cluster ?? {};
  if (!isText(server) || !isText(ca)) throw new Distrust('the cluster-info config map has no server with a CA');
  return {server, ca: Buffer.from(ca, 'base64').toString()};
};

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

const checkAuthority = (ca: string, hashes: readonly string[]): void => {
  if (hashes.length === 0) return;
  const found = parseCertificateBundle(ca).map(certificate => publicKeyHash(certificatePem(certificate)));
  if (found.some(hash => hashes.includes(hash))) return;
  throw new Distrust(
    `--discovery-token-ca-cert-hash: the CA of the cluster has the hash ${found.join(' or ')}, which is none of those given`,
  );
};

/** Returns the error of a list of hashes; undefined for a valid one. */
export const hashProblem = (hashes: readonly string[]): string | undefined => {
  const wrong = hashes.find(hash => !/^sha256:[0-9a-f]{64}$/.test(hash));
  return wrong === undefined
    ? undefined
    : `--discovery-token-ca-cert-hash: ${JSON.stringify(wrong)} is not of the form sha256:HEX with 64 digits`;
};
