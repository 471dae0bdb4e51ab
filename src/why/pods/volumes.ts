import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {newest, type Cluster} from '#src/why/facts/cluster.js';
import type {Rule} from '#src/why/facts/finding.js';
import {referenceTo, type Reference} from '#src/why/facts/reference.js';

/** Whether containers of the pod wait for their volumes, perhaps. */
const isCreating = ({status}: Pod): boolean => {
  const waits = (name: string) => name === 'ContainerCreating' || name === 'PodInitializing';
  return (
    status?.phase === 'Pending' &&
    [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].every(({state}) =>
      waits(state?.waiting?.reason ?? 'ContainerCreating'),
    )
  );
};

/** A claim of a pod that is bound to no volume, although the pod has a node. */
const unboundClaim = async (pod: Pod, cluster: Cluster): Promise<Reference | undefined> => {
  for (const {persistentVolumeClaim} of pod.spec?.volumes ?? []) {
    const claim =
      persistentVolumeClaim && (await cluster.get(kinds.persistentVolumeClaims, persistentVolumeClaim.claimName, pod.metadata?.namespace));
    if (claim && claim.status?.phase !== 'Bound') return referenceTo(kinds.persistentVolumeClaims, claim);
  }
  return undefined;
};

/** The attachment, if any, of a volume of the pod to its node that does not succeed. */
const failedAttachment = async (pod: Pod, cluster: Cluster): Promise<Reference | undefined> => {
  for (const {persistentVolumeClaim} of pod.spec?.volumes ?? []) {
    const claim =
      persistentVolumeClaim && (await cluster.get(kinds.persistentVolumeClaims, persistentVolumeClaim.claimName, pod.metadata?.namespace));
    if (!claim?.spec?.volumeName) continue;
    const attachments = await cluster.list(kinds.volumeAttachments);
    const found = attachments.find(
      ({spec, status}) =>
        spec.source.persistentVolumeName === claim.spec?.volumeName && spec.nodeName === pod.spec?.nodeName && !status?.attached,
    );
    if (found) return referenceTo(kinds.volumeAttachments, found);
  }
  return undefined;
};

/** A volume of the pod is not attached or not mounted. */
export const volumes: Rule<Pod> = async (pod, cluster) => {
  if (!pod.spec?.nodeName || !isCreating(pod)) return undefined;
  const claim = await unboundClaim(pod, cluster);
  if (claim) return {rule: 'claim-pending', sentence: `its claim ${claim.name} is not bound`, ends: 'A volume for the claim.', next: claim};
  const events = await cluster.events(kinds.pods, pod);
  const attach = newest(events, 'FailedAttachVolume');
  const attachment = await failedAttachment(pod, cluster);
  if (attach || attachment)
    return {
      rule: 'volume-attach',
      sentence: attach ? `a volume is not attached to its node: ${attach.message}` : 'a volume is not attached to its node',
      since: attach?.first,
      ends: /Multi-Attach/.test(attach?.message ?? '')
        ? 'The end of the pod on the other node that uses the volume, and its detachment there.'
        : 'The driver of the volume, once it has attached it; it tries again.',
      next: attachment,
    };
  const mount = newest(events, 'FailedMount', 'FailedMapVolume');
  if (!mount) return undefined;
  const [, volume, why = mount.message] = /for volume "([^"]+)" : (.*)$/s.exec(mount.message) ?? [];
  const [, kind, name] = /^(secret|configmap) "([^"]+)" not found$/.exec(why) ?? [];
  return {
    rule: 'volume-mount',
    sentence: volume ? `its volume ${volume} cannot be mounted: ${why}` : `a volume cannot be mounted: ${why}`,
    since: mount.first,
    ends: name
      ? `The creation of the ${kind === 'secret' ? 'secret' : 'config map'} ${name} in the namespace ${pod.metadata?.namespace}.`
      : 'What the message asks for; the agent tries again, at most two minutes later.',
  };
};
