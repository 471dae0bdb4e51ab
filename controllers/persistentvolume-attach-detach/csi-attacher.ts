import {createHash} from 'node:crypto';
import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {isAlreadyExists} from '#src/api/status.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Attacher, VolumeSpec, Waiting} from '#controllers/shared/volumes/plugin.js';

export type Attachment = ObjectOf<typeof kinds.volumeAttachments>;
type CsiDriver = ObjectOf<typeof kinds.csiDrivers>;

/** How long to wait for a driver to attach or detach a volume. */
const patienceMs = 120_000;

const csiOf = ({source}: VolumeSpec): {readonly driver: string; readonly volumeHandle: string} =>
  source.csi as unknown as {readonly driver: string; readonly volumeHandle: string};

/** Returns the name of the object that attaches a volume to a node. */
export const attachmentName = (spec: VolumeSpec, node: string): string => {
  const {driver, volumeHandle} = csiOf(spec);
  return `csi-${createHash('sha256').update(`${volumeHandle}${driver}${node}`).digest('hex')}`;
};

/** Attaches volumes of CSI drivers by VolumeAttachment objects, which the drivers' own attachers carry out. */
export class CsiAttacher implements Attacher {
  readonly #context: ControllerContext;
  readonly #attachments: Lister<Attachment>;
  readonly #drivers: Lister<CsiDriver>;
  readonly #checks = new Map<string, Set<() => void>>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#attachments = context.lister(kinds.volumeAttachments);
    this.#drivers = context.lister(kinds.csiDrivers);
    context.listen(kinds.volumeAttachments, ({object}) => {
      for (const check of this.#checks.get(object.metadata?.name ?? '') ?? []) check();
    });
  }

  canAttach(spec: VolumeSpec): boolean {
    return this.#drivers.get(csiOf(spec).driver)?.spec.attachRequired !== false;
  }

  async attach(spec: VolumeSpec, node: string, waiting: Waiting): Promise<string> {
    const name = attachmentName(spec, node);
    const attachment: Attachment = {
      metadata: {name},
      spec: {attacher: csiOf(spec).driver, nodeName: node, source: {persistentVolumeName: spec.name}},
    };
    try {
      await this.#context.writer(kinds.volumeAttachments).create(attachment);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    await waiting.released(() =>
      this.#until(name, waiting.signal, found => {
        if (found?.metadata?.deletionTimestamp) throw new Error('volume attachment is being deleted');
        if (found?.status?.attached) return true;
        if (found?.status?.attachError) throw new Error(found.status.attachError.message ?? '');
        return false;
      }),
    );
    return '';
  }

  async detach(spec: VolumeSpec, node: string, waiting: Waiting): Promise<void> {
    const name = attachmentName(spec, node);
    const resource = this.#context.client.resource(kinds.volumeAttachments);
    const deleted = await unlessMissing(resource.delete(name));
    if (deleted === undefined && !this.#attachments.get(name)) return;
    await waiting.released(() =>
      this.#until(name, waiting.signal, found => {
        if (found?.status?.detachError) throw new Error(found.status.detachError.message ?? '');
        return !found;
      }),
    );
  }

  areAttached(specs: readonly VolumeSpec[], node: string): Promise<readonly boolean[]> {
    return Promise.resolve(
      specs.map(spec => {
        const found = this.#attachments.get(attachmentName(spec, node));
        return found?.status?.attached === true && !found.metadata?.deletionTimestamp;
      }),
    );
  }

  /** Resolves once `isDone`, which is asked on each change. Rejects with what it throws, or after the patience is over. */
  #until(name: string, signal: AbortSignal, isDone: (found: Frozen<Attachment> | undefined) => boolean): Promise<void> {
    const checks = this.#checks.get(name) ?? new Set();
    this.#checks.set(name, checks);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        timer[Symbol.dispose]();
        checks.delete(check);
        if (checks.size === 0) this.#checks.delete(name);
        signal.removeEventListener('abort', abort);
        settle();
      };
      const check = () => {
        try {
          if (isDone(this.#attachments.get(name))) end(resolve);
        } catch (error) {
          end(() => reject(error as Error));
        }
      };
      const abort = () => end(() => reject(signal.reason as Error));
      const timer = this.#context.clock.schedule(patienceMs, () =>
        end(() => reject(new Error(`timed out waiting for external-attacher of ${name}`))),
      );
      signal.addEventListener('abort', abort, {once: true});
      checks.add(check);
      check();
    });
  }
}
