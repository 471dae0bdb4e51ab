import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {procedures, type Capability} from '#src/platlet/csi/procedures.js';
import {GrpcError, grpcCodes} from '#src/transport/grpc/channel.js';
import type {Draft, Value} from '#src/platlet/rpc/codec.js';
import {FakePlugin} from '#test/platlet/plugins/fake-plugin.js';
import {serves} from '#src/platlet/rpc/served.js';
import type {FolderHost} from '#test/platlet/host.js';

type Requests = {readonly [Name in keyof typeof procedures]: Value<(typeof procedures)[Name]['request']>};
type Answers = {readonly [Name in keyof typeof procedures]: Draft<Value<(typeof procedures)[Name]['response']>>};

/** How a driver mounts a volume at a path, and unmounts it. */
export interface DriverMounts {
  mount(path: string): void | Promise<void>;
  unmount(path: string): void | Promise<void>;
}

/** Mounts that are only noted. */
const notedIn = ({mounted}: Pick<FolderHost, 'mounted'>): DriverMounts => ({
  mount(path) {
    if (!mounted.some(mount => mount.path === path))
      mounted.push({path, type: 'ext4', root: '/', device: `0:${mounted.length}`, source: '/dev/fake', options: [], isShared: false});
  },
  unmount(path) {
    const at = mounted.findLastIndex(mount => mount.path === path);
    if (at >= 0) mounted.splice(at, 1);
  },
});

export interface FakeDriverOptions {
  readonly mounts?: DriverMounts;
  /** The path of its socket. */
  readonly socket?: string;
  readonly can?: readonly Capability[];
  readonly info?: Answers['info'];
  readonly versions?: readonly string[];
}

/** A driver whose mounts are noted in a host. It lists its calls. */
export class FakeDriver implements AsyncDisposable {
  readonly name: string;
  /** The calls, without those that ask what the driver can do: `NodeStageVolume vol-1 …/globalmount`. */
  readonly calls: string[] = [];
  readonly requests: {-readonly [Name in keyof Requests]?: Requests[Name]} = {};
  /** Codes of procedures that fail. */
  readonly failures: {-readonly [Name in keyof Requests]?: number} = {};
  stats: Answers['stats'] = {};
  can: readonly Capability[];
  info: Answers['info'];
  readonly #root: string;
  readonly #mounts: DriverMounts;
  readonly #plugin: FakePlugin;

  constructor(
    name: string,
    host: Pick<FolderHost, 'root' | 'mounted'> & {readonly folders: {readonly root: string}},
    options: FakeDriverOptions = {},
  ) {
    const {can = ['STAGE_UNSTAGE_VOLUME'], info = {nodeId: 'id-of-node'}, versions = ['1.0.0']} = options;
    this.name = name;
    this.can = can;
    this.info = info;
    const {mounts = notedIn(host), socket = `${host.root}/${name}.sock`} = options;
    this.#root = host.folders.root;
    this.#mounts = mounts;
    this.#plugin = new FakePlugin(socket, {type: 'CSIPlugin', name, supportedVersions: versions});
  }

  get socket(): string {
    return this.#plugin.socket;
  }

  async start(): Promise<this> {
    await this.#plugin.start({
      ...serves(procedures.capabilities, () => ({capabilities: this.can.map(type => ({rpc: {type}}))})),
      ...serves(procedures.info, request => this.#called('info', request, '', () => this.info)),
      ...serves(procedures.stage, request =>
        this.#called('stage', request, request.stagingTargetPath, () => this.#mount(request.stagingTargetPath)),
      ),
      ...serves(procedures.unstage, request =>
        this.#called('unstage', request, request.stagingTargetPath, () => this.#unmount(request.stagingTargetPath)),
      ),
      ...serves(procedures.publish, request =>
        this.#called('publish', request, request.targetPath, () => {
          if (request.volumeCapability?.block) writeFileSync(request.targetPath, '');
          else mkdirSync(request.targetPath, {recursive: true});
          return this.#mount(request.targetPath);
        }),
      ),
      ...serves(procedures.unpublish, request =>
        this.#called('unpublish', request, request.targetPath, async () => {
          await this.#unmount(request.targetPath);
          rmSync(request.targetPath, {recursive: true, force: true});
          return {};
        }),
      ),
      ...serves(procedures.stats, request => this.#called('stats', request, request.volumePath, () => this.stats)),
      ...serves(procedures.expand, request =>
        this.#called('expand', request, `${request.volumePath} ${request.capacityRange?.requiredBytes}`, () => ({
          capacityBytes: request.capacityRange?.requiredBytes ?? 0,
        })),
      ),
    });
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plugin.stop();
  }

  async #called<Name extends keyof Requests>(
    name: Name,
    request: Requests[Name],
    path: string,
    act: () => Answers[Name] | Promise<Answers[Name]>,
  ): Promise<Answers[Name]> {
    const {path: procedure} = procedures[name];
    const volume = 'volumeId' in request ? (request.volumeId as string) : '';
    const shown = path.replaceAll(this.#root, '');
    this.calls.push([procedure.slice(procedure.lastIndexOf('/') + 1), volume, shown].filter(Boolean).join(' '));
    this.requests[name] = request as never;
    const code = this.failures[name];
    if (code !== undefined && code !== 0) throw new GrpcError(code, `${name} failed`);
    return act();
  }

  async #mount(path: string): Promise<Record<never, never>> {
    await this.#mounts.mount(path);
    return {};
  }

  async #unmount(path: string): Promise<Record<never, never>> {
    await this.#mounts.unmount(path);
    return {};
  }
}

export {grpcCodes};
