import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {subject, type Rule} from '#src/why/facts/finding.js';

type Volume = ObjectOf<typeof kinds.persistentVolumes>;
type Attachment = ObjectOf<typeof kinds.volumeAttachments>;

const released: Rule<Volume> = volume => {
  const {phase, reason, message, lastPhaseTransitionTime: since} = volume.status ?? {};
  const {claimRef, persistentVolumeReclaimPolicy: policy} = volume.spec ?? {};
  const claim = `${claimRef?.namespace}/${claimRef?.name}`;
  if (phase === 'Failed')
    return {
      rule: 'reclaim',
      sentence: `it cannot be reclaimed: ${[reason, message].filter(Boolean).join(': ')}`,
      since,
      ends: 'The driver of the volume, once it has deleted it, or a deletion by hand.',
    };
  if (phase !== 'Released') return undefined;
  return {
    rule: policy === 'Retain' ? 'retained' : 'reclaim',
    sentence:
      policy === 'Retain'
        ? `its claim ${claim} is gone, and with the policy Retain it is kept and no other claim gets it`
        : `its claim ${claim} is gone, and its driver has not deleted it`,
    since,
    ends:
      policy === 'Retain'
        ? `Its deletion, or a patch that removes spec.claimRef, with which it is free for another claim.`
        : 'The driver of the volume, once it has deleted it.',
  };
};

export const volumeSubject = subject<Volume>({
  rules: [released],
  rest: ({status, spec}) =>
    status?.phase === 'Bound'
      ? `it is bound to the claim ${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`
      : `it is ${status?.phase}, and waits for a claim that matches it`,
});

const unattached: Rule<Attachment> = ({spec, status, metadata}) => {
  if (status?.attached) return undefined;
  const error = status?.attachError;
  return {
    rule: 'attach',
    sentence: error
      ? `the driver ${spec.attacher} cannot attach the volume ${spec.source.persistentVolumeName} to the node ${spec.nodeName}: ${error.message}`
      : `the driver ${spec.attacher} has not attached the volume ${spec.source.persistentVolumeName} to the node ${spec.nodeName}`,
    since: error?.time ?? metadata?.creationTimestamp,
    ends: `The attacher of the driver ${spec.attacher}, once it succeeds; it tries again.`,
  };
};

export const attachmentSubject = subject<Attachment>({
  rules: [unattached],
  rest: ({spec}) => `the volume ${spec.source.persistentVolumeName} is attached to the node ${spec.nodeName}`,
});
