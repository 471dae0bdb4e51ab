// The certificates of nodes, which their agents renew: when most of the lifetime of one is over, the next one is
// requested in the copy as the agent would do it. Controllers of the copy approve and sign it, or nobody does.

import {kinds, apiVersionOf, type ObjectOf} from '#src/api/kinds/index.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/operator/client/client.js';
import {parseCertificateBundle, type Certificate} from '#src/pki/certificate.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest, parseSigningRequest} from '#src/pki/signing-request.js';
import type {Happening} from './happenings.js';
import {readyNodes} from './nodes.js';
import {renewalLabel} from './renewal-label.js';
import type {Source} from './source.js';

type Request = ObjectOf<typeof kinds.certificateSigningRequests>;

/** Agents renew between 70 and 90 % of the lifetime: this is the middle. */
const renewedAfter = 0.8;

/** A certificate that a node uses. */
export interface NodeCertificate {
  readonly node: string;
  readonly use: 'client' | 'serving';
  readonly spec: Request['spec'];
  readonly certificate: Pick<Certificate, 'notBefore' | 'notAfter'>;
}

const certificateIn = ({status}: Request): Certificate | undefined => {
  if (!status?.certificate) return undefined;
  try {
    return parseCertificateBundle(Buffer.from(status.certificate, 'base64'))[0];
  } catch {
    return undefined;
  }
};

/** Returns the newest certificate of each use that the requests in a cluster tell of, for the nodes that are ready. */
export const nodeCertificates = (source: Source): NodeCertificate[] => {
  const {objects, naming} = source;
  const {agentServing, apiserverClientAgent} = naming.signers;
  const uses: Readonly<Record<string, NodeCertificate['use']>> = {[agentServing]: 'serving', [apiserverClientAgent]: 'client'};
  const ready = new Set(readyNodes(source).map(({metadata}) => metadata!.name!));
  const apiVersion = apiVersionOf(naming, kinds.certificateSigningRequests);
  const newest = new Map<string, NodeCertificate>();
  for (const object of objects.values()) {
    if (object.kind !== kinds.certificateSigningRequests.kind || object.apiVersion !== apiVersion) continue;
    const {spec} = object as Request;
    const use = uses[spec.signerName];
    const certificate = use && certificateIn(object as Request);
    const name = certificate?.subject.commonName ?? '';
    const node = name.startsWith(wellKnown.nodeUserPrefix) ? name.slice(wellKnown.nodeUserPrefix.length) : '';
    if (!use || !certificate || !ready.has(node)) continue;
    const known = newest.get(`${node} ${use}`);
    if (!known || known.certificate.notAfter < certificate.notAfter) newest.set(`${node} ${use}`, {node, use, spec, certificate});
  }
  return [...newest.values()];
};

/** Whether a node renews the certificate of a request, so that its end is none. */
export const isRenewed = (certificates: readonly NodeCertificate[]): ((object: Request) => boolean) => {
  const renewed = new Set(certificates.map(({node, spec}) => `${node} ${spec.signerName}`));
  return object => {
    const name = certificateIn(object)?.subject.commonName ?? '';
    return renewed.has(`${name.slice(wellKnown.nodeUserPrefix.length)} ${object.spec.signerName}`);
  };
};

interface RenewalParts {
  readonly clock: VirtualClock;
  readonly signal: AbortSignal;
  client(user?: UserInfo): Client;
  tell(happening: Happening): void;
}

/** Advances the time of a copy to `until`, and has the nodes renew their certificates meanwhile. */
export const advanceWithRenewals = async (certificates: readonly NodeCertificate[], until: number, parts: RenewalParts): Promise<void> => {
  const {clock, signal} = parts;
  const waiting = [...certificates];
  for (;;) {
    waiting.sort((one, other) => renewalOf(one) - renewalOf(other));
    const next = waiting.shift();
    if (!next || renewalOf(next) > until) break;
    await clock.advance(Math.max(0, renewalOf(next) - clock.now()), signal);
    const renewed = await renewal(next, parts);
    if (renewed) waiting.push(renewed);
  }
  await clock.advance(until - clock.now(), signal);
};

const renewalOf = ({certificate: {notBefore, notAfter}}: NodeCertificate): number => notBefore + renewedAfter * (notAfter - notBefore);

/** Requests the next certificate of a node. Returns it, or undefined if nobody issues it. */
const renewal = async (of: NodeCertificate, {clock, signal, client, tell}: RenewalParts): Promise<NodeCertificate | undefined> => {
  const {node, use, spec} = of;
  const {subject, dnsNames, ipAddresses} = parseSigningRequest(Buffer.from(spec.request, 'base64'));
  const request = createSigningRequest(await generatePrivateKey(), {
    subject: {commonName: subject.commonName, organizations: subject.organizations},
    dnsNames,
    ipAddresses,
  });
  const user = {name: `${wellKnown.nodeUserPrefix}${node}`, groups: [wellKnown.nodes, wellKnown.authenticated]};
  const object = `Node ${node}`;
  const told = {at: clock.now(), object};
  let name: string;
  try {
    const {signerName, usages, expirationSeconds} = spec;
    const wanted = {
      request: Buffer.from(request).toString('base64'),
      signerName,
      ...(usages ? {usages} : {}),
      ...(expirationSeconds ? {expirationSeconds} : {}),
    };
    const metadata = {generateName: 'csr-', labels: {[renewalLabel]: node}};
    ({name} = (await client(user).create(kinds.certificateSigningRequests, {metadata, spec: wanted})).metadata);
  } catch (error) {
    tell({...told, what: `cannot renew its ${use} certificate`, because: (error as Error).message});
    return undefined;
  }
  await clock.drain(signal);
  const found = (await client().get(kinds.certificateSigningRequests, {name})) as Request | undefined;
  const certificate = found && certificateIn(found);
  if (!certificate) {
    const isApproved = found?.status?.conditions?.some(({type}) => type === 'Approved') ?? false;
    const because = isApproved ? 'no controller signs its request' : 'nobody approves its request, as far as the controllers go';
    tell({...told, what: `does not get a new ${use} certificate`, because});
    return undefined;
  }
  tell({...told, what: `renews its ${use} certificate`, because: `${100 * renewedAfter} % of its lifetime are over`});
  return {...of, certificate};
};
