import {onAbort} from '#src/base/signals.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {ContainerConfig, SandboxConfig} from '#src/platlet/runtime/configs.js';
import type {Image} from '#src/platlet/runtime/images.js';
import type {Runtime, RuntimeStatus} from '#src/platlet/runtime/runtime.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';
import {MemoryRuntime, type Program} from '#test/platlet/memory-runtime.js';

/** Returns an image of one byte. */
export const anImage = (name: string, bytes = 1): Image => ({id: `sha256:${name}`, tags: [name], digests: [], bytes, isPinned: false});

/** A runtime in memory that keeps what it is asked for, and that has images. */
export class RecordingRuntime extends MemoryRuntime {
  readonly #clock: Clock;
  readonly sandboxConfigs: SandboxConfig[] = [];
  readonly containerConfigs: ContainerConfig[] = [];
  /** The ranges of pods that it was told. */
  readonly podRanges: string[] = [];
  /** Thrown by the next announcements of ranges. */
  readonly rangeErrors: Error[] = [];
  /** The images that are there; undefined: all that pods ask for. */
  present: Image[] | undefined;
  readonly removedImages: string[] = [];
  /** How long a pull takes, and how many went on at once at most. */
  pullMs = 0;
  mostPulls = 0;
  #pulls = 0;
  hasNetwork = true;
  isReady = true;
  /** The containers whose logs were opened anew. */
  readonly reopened: string[] = [];
  /** The log of every container. */
  logPath: string | undefined;
  /** The folder that images are in. */
  imageFolder: string | undefined;

  constructor(clock: Clock, programs?: (name: string) => Program) {
    super(clock, programs);
    this.#clock = clock;
  }

  override async status(): Promise<RuntimeStatus> {
    const {conditions} = await super.status();
    const status = {RuntimeReady: this.isReady, NetworkReady: this.hasNetwork} as const;
    return {conditions: conditions.map(each => ({...each, status: status[each.type as keyof typeof status]}))};
  }

  override updatePodCidr: Runtime['updatePodCidr'] = async range => {
    const error = this.rangeErrors.shift();
    if (error) throw error;
    this.podRanges.push(range);
  };

  override runSandbox(config: SandboxConfig, handler: string): Promise<string> {
    this.sandboxConfigs.push(config);
    return super.runSandbox(config, handler);
  }

  override createContainer(sandbox: string, config: ContainerConfig): Promise<string> {
    this.containerConfigs.push(config);
    return super.createContainer(sandbox, config);
  }

  override async containerStatus(id: string): Promise<ContainerInstance> {
    return {...(await super.containerStatus(id)), ...(this.logPath === undefined ? {} : {logPath: this.logPath})};
  }

  override async images(): Promise<readonly Image[]> {
    return this.present ?? [];
  }

  override imageStatus: Runtime['imageStatus'] = async ({image}) =>
    this.present ? this.present.find(({id, tags}) => id === image || tags.includes(image)) : anImage(image);

  override pullImage: Runtime['pullImage'] = async ({image}) => {
    this.mostPulls = Math.max(this.mostPulls, ++this.#pulls);
    if (this.pullMs > 0) await sleep(this.#clock, this.pullMs);
    this.#pulls--;
    this.calls.push(`pull ${image}`);
    const pulled = anImage(image);
    this.present?.push(pulled);
    return pulled.id;
  };

  override removeImage: Runtime['removeImage'] = async ({image}) => {
    this.removedImages.push(image);
    this.present = this.present?.filter(({id}) => id !== image);
  };

  /** A command that goes on until the client leaves, and writes nothing. */
  override exec: Runtime['exec'] = (_id, _command, _streams, signal) => new Promise(resolve => onAbort(signal, () => resolve(137)));

  override reopenLog: Runtime['reopenLog'] = async id => {
    this.reopened.push(id);
  };

  override async imageFilesystems() {
    const images = this.imageFolder === undefined ? [] : [{at: this.#clock.now(), mountpoint: this.imageFolder, usedBytes: 0}];
    return {images, containers: []};
  }
}
