// Part of the sixth stage of an agent: the certificates that its pods trust, and those that they get.

import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isMirrorPod} from '#src/platlet/pod/origin.js';
import {noPodCertificates, PodCertificates} from '#src/platlet/pod-certificates/pod-certificates.js';
import {ClusterTrustBundles, noTrustBundles, type TrustBundles} from '#src/platlet/volumes/trust-bundles.js';
import type {Cluster} from './cluster.js';
import type {AgentParts} from './parts.js';

/** What projected volumes have for TLS. */
export interface PodCredentials {
  readonly bundles: TrustBundles;
  readonly certificates: Pick<PodCertificates, 'get' | 'track' | 'forget'>;
}

/** The results of the earlier stages. */
interface Before {
  readonly cluster: Pick<Cluster, 'informers' | 'registered' | 'events'>;
  /** Returns the pods of all sources. */
  pods(): Iterable<Frozen<Pod>>;
}

/** Creates the readers of trust bundles and pod certificates. Without their gates and an API server they refuse. */
export const podCredentials = (parts: AgentParts, before: Before, signal: AbortSignal): PodCredentials => {
  const {settings, clients, gate, naming, clock, random, log} = parts;
  const {informers} = before.cluster;
  const agent = naming.agent;
  const bundles =
    gate('ClusterTrustBundleProjection') && !clients.isStandalone
      ? new ClusterTrustBundles({client: clients.main, informers, clock, random, log, agent, cacheSize: 2 * settings.maxPods, signal})
      : noTrustBundles(agent);
  return {
    bundles,
    certificates: gate('PodCertificateRequest') && !clients.isStandalone ? issued(parts, before, signal) : noPodCertificates,
  };
};

const issued = (
  {clients: {main: client}, identity: {nodeName}, naming, clock, random, log, meter}: AgentParts,
  {cluster: {informers, registered: node, events}, pods}: Before,
  signal: AbortSignal,
): PodCertificates => {
  const informer = informers.informer<PodCertificateRequest>({
    kind: kinds.podCertificateRequests,
    fieldSelector: `spec.nodeName=${nodeName}`,
  });
  const own = (): Frozen<Pod>[] => [...pods()].filter(pod => !isMirrorPod(naming, pod));
  const certificates = new PodCertificates({
    requests: {client, informer, nodeName, node},
    pods: own,
    clock,
    random,
    log,
    events,
    signal,
  });
  meter.observed(
    {
      name: `${naming.agent}_podcertificate_states`,
      help: 'The certificates of projected volumes, by signer and state.',
      labels: ['signer_name', 'state'],
    },
    () => certificates.states(),
  );
  certificates.start().catch((error: unknown) => {
    if (!signal.aborted) clock.unhandled(error);
  });
  return certificates;
};
