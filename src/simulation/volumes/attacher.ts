import {kinds} from '#src/api/kinds/index.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {ResourceClient} from '#src/client/client.js';
import {settled, type Reconcile, type Result} from '#src/runtime/controller.js';
import {targetOf, type Attachment, type DriverContext} from './context.js';

/** Writes a VolumeAttachment of the driver, which has a finalizer of its own on it. */
class AttachmentWriter {
  readonly #resource: ResourceClient<Attachment>;
  readonly #finalizer: string;

  constructor({client, driver}: Pick<DriverContext, 'client' | 'driver'>) {
    this.#resource = client.resource(kinds.volumeAttachments);
    this.#finalizer = `external-attacher/${driver.replaceAll('.', '-')}`;
  }

  isOurs({metadata}: Frozen<Attachment>): boolean {
    return metadata?.finalizers?.includes(this.#finalizer) ?? false;
  }

  async takeOver(attachment: Frozen<Attachment>): Promise<Frozen<Attachment>> {
    if (this.isOurs(attachment)) return attachment;
    return this.#setFinalizers(attachment, [...(attachment.metadata?.finalizers ?? []), this.#finalizer]);
  }

  release(attachment: Frozen<Attachment>, finalizers: readonly string[]): Promise<Attachment> {
    return this.#setFinalizers(
      attachment,
      finalizers.filter(each => each !== this.#finalizer),
    );
  }

  setStatus(attachment: Frozen<Attachment>, status: NonNullable<Attachment['status']>): Promise<Attachment> {
    return this.#resource.update({...copyOf<Attachment>(attachment), status}, {subresource: 'status'});
  }

  #setFinalizers(attachment: Frozen<Attachment>, finalizers: readonly string[]): Promise<Attachment> {
    const changed = copyOf<Attachment>(attachment);
    changed.metadata = {...changed.metadata, finalizers: [...finalizers]};
    return this.#resource.update(changed);
  }
}

/** Reconciles VolumeAttachments of the driver, like the external-attacher. */
export const attacher = (context: DriverContext): Reconcile => {
  const {clock, driver, naming, steps, attachments, volumes} = context;
  const writer = new AttachmentWriter(context);
  const targetAt = ({spec}: Frozen<Attachment>) => {
    const volume = volumes.get(spec.source.persistentVolumeName ?? '');
    return volume ? targetOf(volume, naming, spec.nodeName) : {namespace: '', claim: '', storageClass: '', node: spec.nodeName};
  };

  const attach = async (attachment: Frozen<Attachment>, name: string): Promise<Result> => {
    if (attachment.status?.attached) return settled;
    const {again, error} = steps.take(name, 'attach', targetAt(attachment));
    if (again) return again;
    const own = await writer.takeOver(attachment);
    if (error) {
      await writer.setStatus(own, {attached: false, attachError: {time: wireTime(clock.now()), message: error.message}});
      throw error;
    }
    const devicePath = `/dev/simulated/${own.spec.source.persistentVolumeName ?? name}`;
    await writer.setStatus(own, {attached: true, attachmentMetadata: {devicePath}});
    return settled;
  };

  const detach = async (attachment: Frozen<Attachment>, name: string): Promise<Result> => {
    if (!writer.isOurs(attachment)) return settled;
    const {again, error} = steps.take(name, 'detach', targetAt(attachment));
    if (again) return again;
    const {attached = false} = attachment.status ?? {};
    if (error) {
      await writer.setStatus(attachment, {attached, detachError: {time: wireTime(clock.now()), message: error.message}});
      throw error;
    }
    const own = attached ? await writer.setStatus(attachment, {attached: false}) : attachment;
    await writer.release(own, attachment.metadata?.finalizers ?? []);
    return settled;
  };

  return async key => {
    const attachment = attachments.get(key);
    if (attachment?.spec.attacher !== driver) {
      steps.forget(key.name, 'attach', 'detach');
      return settled;
    }
    try {
      return await (attachment.metadata?.deletionTimestamp ? detach : attach)(attachment, key.name);
    } catch (error) {
      if (isNotFound(error)) return settled;
      throw error;
    }
  };
};
