import {kinds} from '#src/api/kinds/index.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {settled, type Reconcile} from '#src/runtime/controller.js';
import {targetOf, type Attachment, type DriverContext} from './context.js';

/** Reconciles VolumeAttachments of the driver, like the external-attacher. */
export const attacher = ({client, clock, driver, naming, steps, attachments, volumes}: DriverContext): Reconcile => {
  const resource = client.resource(kinds.volumeAttachments);
  const finalizer = `external-attacher/${driver.replaceAll('.', '-')}`;

  const setStatus = (attachment: Frozen<Attachment>, status: NonNullable<Attachment['status']>): Promise<Attachment> =>
    resource.update({...copyOf<Attachment>(attachment), status}, {subresource: 'status'});
  const setFinalizers = (attachment: Frozen<Attachment>, finalizers: readonly string[]): Promise<Attachment> => {
    const changed = copyOf<Attachment>(attachment);
    changed.metadata = {...changed.metadata, finalizers: [...finalizers]};
    return resource.update(changed);
  };
  const targetAt = ({spec}: Frozen<Attachment>) => {
    const volume = volumes.get(spec.source.persistentVolumeName ?? '');
    return volume ? targetOf(volume, naming, spec.nodeName) : {namespace: '', claim: '', storageClass: '', node: spec.nodeName};
  };

  const attach: Reconcile = async ({name}) => {
    const attachment = attachments.get(name)!;
    if (attachment.status?.attached) return settled;
    const {again, error} = steps.take(name, 'attach', targetAt(attachment));
    if (again) return again;
    const {finalizers = []} = attachment.metadata ?? {};
    const own = finalizers.includes(finalizer) ? attachment : await setFinalizers(attachment, [...finalizers, finalizer]);
    if (!error) {
      await setStatus(own, {
        attached: true,
        attachmentMetadata: {devicePath: `/dev/simulated/${own.spec.source.persistentVolumeName ?? name}`},
      });
      return settled;
    }
    await setStatus(own, {attached: false, attachError: {time: wireTime(clock.now()), message: error.message}});
    throw error;
  };

  const detach: Reconcile = async ({name}) => {
    const attachment = attachments.get(name)!;
    const {finalizers = []} = attachment.metadata ?? {};
    if (!finalizers.includes(finalizer)) return settled;
    const {again, error} = steps.take(name, 'detach', targetAt(attachment));
    if (again) return again;
    if (error) {
      await setStatus(attachment, {
        attached: attachment.status?.attached ?? false,
        detachError: {time: wireTime(clock.now()), message: error.message},
      });
      throw error;
    }
    const own = attachment.status?.attached ? await setStatus(attachment, {attached: false}) : attachment;
    await setFinalizers(
      own,
      finalizers.filter(each => each !== finalizer),
    );
    return settled;
  };

  return async (key, attempt) => {
    const attachment = attachments.get(key);
    if (attachment?.spec.attacher !== driver) {
      steps.forget(key.name, 'attach', 'detach');
      return settled;
    }
    try {
      return await (attachment.metadata?.deletionTimestamp ? detach : attach)(key, attempt);
    } catch (error) {
      if (isNotFound(error)) return settled;
      throw error;
    }
  };
};
