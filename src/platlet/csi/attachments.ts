// Whether the volumes of CSI drivers are attached to the node, which a controller does.

import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import {NotAttached, VolumeError} from '#src/platlet/volumes/plugin.js';
import {attachmentName, type CsiVolume} from './volume.js';

type Attachment = ObjectOf<typeof kinds.volumeAttachments>;

export interface AttachmentsParts {
  readonly client: Client;
  readonly nodeName: string;
  /** Whether a controller attaches volumes; otherwise none is attached. */
  readonly byController: boolean;
  /** Returns the Node from the informer. */
  node(): Frozen<Node> | undefined;
}

/** Returns the name of a volume in the status of a Node. */
export const uniqueName = (type: string, {driver, handle}: Pick<CsiVolume, 'driver' | 'handle'>): string => `${type}/${driver}^${handle}`;

/** Whether a Node shows that a volume is attached, and that the node uses it, so that it is not detached now. */
const isShown = ({status}: Frozen<Node>, name: string): boolean =>
  (status?.volumesAttached?.some(attached => attached.name === name) && status.volumesInUse?.includes(name)) ?? false;

/** Throws unless a volume is attached. */
const check = (attachment: Frozen<Attachment>, handle: string, name: string): void => {
  if (attachment.metadata?.deletionTimestamp) throw new Error('volume attachment is being deleted');
  if (attachment.status?.attached) return;
  const {attachError} = attachment.status ?? {};
  if (attachError) throw new Error(attachError.message ?? '');
  throw new Error(`volume ${handle} is not attached for volume attachment ${name}`);
};

/** The attachments of volumes to a node. */
export class Attachments {
  readonly #parts: AttachmentsParts;

  constructor(parts: AttachmentsParts) {
    this.#parts = parts;
  }

  /**
   * Returns what the driver's controller says of an attached volume, for the driver of the node. Throws `NotAttached`
   * while the Node does not show it.
   */
  async ensure(volume: CsiVolume): Promise<Readonly<Record<string, string>>> {
    const {client, nodeName, node, byController} = this.#parts;
    const name = uniqueName(client.naming.key('csi'), volume);
    if (!byController)
      throw new VolumeError(
        'AttachVolume.Attach failed',
        'volumes are attached by a controller only: enableControllerAttachDetach is off',
        {
          reason: 'FailedAttachVolume',
        },
      );
    // The Node from the informer may be old.
    const isKnown = node() !== undefined && isShown(node()!, name);
    if (!isKnown || !isShown(await client.resource(kinds.nodes).get(nodeName), name)) throw new NotAttached(`${name} is not attached`);
    return this.#metadataOf(volume);
  }

  async #metadataOf(volume: CsiVolume): Promise<Readonly<Record<string, string>>> {
    const {client, nodeName} = this.#parts;
    const {handle} = volume;
    const name = attachmentName(volume, nodeName);
    try {
      const attachment = await client
        .resource(kinds.volumeAttachments)
        .get(name)
        .catch((error: unknown) => {
          const text = `volume ${handle} has GET error for volume attachment ${name}: ${messageOf(error)}`;
          throw new Error(text, {cause: error});
        });
      check(attachment, handle, name);
      return attachment.status?.attachmentMetadata ?? {};
    } catch (error) {
      throw new VolumeError('MountVolume.WaitForAttach failed', messageOf(error), {cause: error});
    }
  }
}
