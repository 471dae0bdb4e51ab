import {pluginServices, watchHealth, type PluginService, type ReportedHealth} from '#src/platlet/dra/messages.js';
import type {Draft, Value} from '#src/platlet/rpc/codec.js';
import {serves} from '#src/platlet/rpc/served.js';
import type {Serve} from '#src/transport/grpc/server.js';
import {FakePlugin, streams} from '#test/platlet/plugins/fake-plugin.js';

const newest = pluginServices['v1.DRAPlugin'];
type Prepared = Draft<NonNullable<Value<typeof newest.prepare.response>['claims'][number]['result']>>;

/** The plugin of a driver of claims at a real socket. Tests change what it answers. */
export class FakeClaimPlugin implements AsyncDisposable {
  readonly driver: string;
  readonly socket: string;
  /** What was asked of it: `prepare claim-a,claim-b`. */
  readonly calls: string[] = [];
  /** What it has of a claim by name: by default a device `dev-NAME` of the pool `pool`. */
  prepared: (name: string) => Prepared | 'skipped' | Promise<Prepared> = name => ({
    devices: [{requestNames: ['gpu'], poolName: 'pool', deviceName: `dev-${name}`, cdiDeviceIds: [`vendor.example/gpu=${name}`]}],
  });
  /** Why it does not undo the preparation of claims; empty if it does. */
  unprepareError = '';
  #health: readonly Draft<ReportedHealth>[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #plugin: FakePlugin;

  constructor(folder: string, driver: string, name = `${driver}.sock`) {
    this.driver = driver;
    this.socket = `${folder}/${name}`;
    this.#plugin = new FakePlugin(this.socket, {type: 'DRAPlugin', name: driver, supportedVersions: ['v1.DRAPlugin']});
  }

  async start(version: PluginService = 'v1.DRAPlugin'): Promise<this> {
    const {prepare, unprepare} = pluginServices[version];
    await this.#plugin.start({
      ...serves(prepare, async ({claims}) => {
        this.calls.push(`prepare ${claims.map(({name}) => name).join()}`);
        const results = await Promise.all(claims.map(async ({uid, name}) => ({uid, result: await this.prepared(name)})));
        return {claims: results.flatMap(({uid, result}) => (result === 'skipped' ? [] : [{uid, result}]))};
      }),
      ...serves(unprepare, ({claims}) => {
        this.calls.push(`unprepare ${claims.map(({name}) => name).join()}`);
        return {claims: claims.map(({uid}) => ({uid, result: {error: this.unprepareError}}))};
      }),
      ...this.#watch(),
    });
    return this;
  }

  #watch(): Readonly<Record<string, Serve>> {
    return streams(watchHealth, (_, send, {signal}) => {
      const report = (): void => send({devices: this.#health});
      if (this.#health.length > 0) report();
      this.#listeners.add(report);
      return new Promise(resolve => signal.addEventListener('abort', () => (this.#listeners.delete(report), resolve())));
    });
  }

  /** `registered`, or why it was refused. */
  get answers(): readonly string[] {
    return this.#plugin.answers;
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  /** Tells the health of devices of its pool. */
  report(devices: Readonly<Record<string, ReportedHealth['health']>>, timeoutSeconds = 0): void {
    this.#health = Object.entries(devices).map(([deviceName, health]) => ({
      device: {poolName: 'pool', deviceName},
      health,
      timeoutSeconds,
    }));
    for (const report of this.#listeners) report();
  }

  stop(): Promise<void> {
    return this.#plugin.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
