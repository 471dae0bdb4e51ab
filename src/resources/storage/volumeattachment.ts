import {forbiddenField, invalid, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import {defaultVolumeSource} from '#src/model/volume-defaults.js';
import {roundResourceLists} from '#src/model/resource-list-defaults.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {validateVolumeSpec} from '#src/resources/core/persistentvolume-validation.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {immutableInternal} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {dnsSubdomain, each, rangeText} from '#src/resources/validation/values.js';
import {csiDriverName} from '#src/resources/validation/volume-sources.js';

type VolumeAttachment = ObjectOf<typeof kinds.volumeAttachments>;
type Source = VolumeAttachment['spec']['source'];

const largestMetadata = 256 * 1024;
const longestMessage = 1024;

function* validateSource(
  {inlineVolumeSpec: inline, persistentVolumeName: name}: Readonly<Source>,
  context: HookContext,
): Iterable<FieldError> {
  const path = 'spec.source';
  const either = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  if (!inline && name === undefined) yield required(path, either);
  else if (inline && name !== undefined) yield forbiddenField(path, either);
  else if (name === '') yield required(`${path}.persistentVolumeName`, 'must specify non empty persistentVolumeName');
  else if (inline)
    yield* validateVolumeSpec(inline, `${path}.inlineVolumeSpec`, {naming: context.naming, name: '', inline: true, anyValue: false});
}

function* validateStatus({status}: Readonly<VolumeAttachment>): Iterable<FieldError> {
  const size = Object.entries(status?.attachmentMetadata ?? {}).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  if (size > largestMetadata) yield tooLong('status.attachmentMetadata', largestMetadata);
  for (const field of ['attachError', 'detachError'] as const) {
    // The limit in the error differs from the enforced one, as in the original.
    if (Buffer.byteLength(status?.[field]?.message ?? '') > longestMessage) yield tooLong(`status.${field}.message`, largestMetadata);
    const code = status?.[field]?.errorCode;
    if (code !== undefined && code < 0) yield invalid(`status.${field}.errorCode`, code, rangeText(0, 2 ** 31 - 1));
  }
}

function* validate(
  object: Readonly<VolumeAttachment>,
  old: Readonly<VolumeAttachment> | undefined,
  context: HookContext,
): Iterable<FieldError> {
  const {attacher = '', source = {}, nodeName = ''} = (object.spec ?? {}) as Partial<VolumeAttachment['spec']>;
  if (!attacher) yield required('spec.attacher');
  yield* validateSource(source, context);
  yield* each('spec.nodeName', nodeName, dnsSubdomainProblems(nodeName));
  yield* validateStatus(object);
  if (old) {
    yield* immutableInternal('spec', 'VolumeAttachmentSpec', object.spec, old.spec);
    return;
  }
  yield* csiDriverName('spec.attacher', attacher);
  if (source.persistentVolumeName !== undefined) yield* dnsSubdomain('spec.source.persistentVolumeName', source.persistentVolumeName);
}

/** VolumeAttachment: a volume to be attached to a node, and the progress. */
export const volumeAttachments = defineResource<VolumeAttachment>({
  kind: kinds.volumeAttachments,
  storage: {alwaysPresent: {spec: {}, status: {attached: false}}},
  metadata: {nameProblems: subdomainName},
  update: {unconditional: false},
  default({spec}) {
    const volume = spec?.source?.inlineVolumeSpec;
    if (!volume) return;
    roundResourceLists(volume.capacity);
    defaultVolumeSource(volume);
  },
  main: {metadata: 'whole', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  subresources: {
    status: {
      writes: {update: ['status']},
      prepare({status}, old, {gate}) {
        if (gate('MutableCSINodeAllocatableCount')) return;
        for (const field of ['attachError', 'detachError'] as const)
          if (status?.[field] && old?.status?.[field]?.errorCode === undefined) delete status[field].errorCode;
      },
      validate,
    },
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Attacher', format: 'name', description: 'The driver that attaches the volume.', of: ({spec}) => spec.attacher},
      {name: 'PV', description: 'The volume.', of: ({spec}) => spec.source.persistentVolumeName ?? ''},
      {name: 'Node', description: 'The node.', of: ({spec}) => spec.nodeName},
      {name: 'Attached', type: 'boolean', description: 'Whether it is done.', of: ({status}) => status?.attached ?? false},
      ageColumn,
    ],
  },
});
