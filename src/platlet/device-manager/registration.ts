// How plugins register the resource of their devices: by the socket of the agent, or by one of their own that the agent
// finds.

import {join} from 'node:path';
import {deviceFiles, type Naming} from '#src/api/naming.js';
import type {Log} from '#src/base/log.js';
import {isExtendedResource} from '#src/model/resource-names.js';
import type {Host} from '#src/platlet/host/host.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {Plugin, PluginHandler} from '#src/platlet/plugin-watcher/plugin-handler.js';
import {labelPluginFolder} from '#src/platlet/selinux/plugin-folders.js';
import {serves} from '#src/platlet/rpc/served.js';
import {GrpcServer} from '#src/transport/grpc/server.js';
import type {DevicePlugins} from './device-plugins.js';
import {deviceApiVersion, register} from './messages.js';

export interface DeviceRegistrationParts {
  readonly folder: string;
  readonly plugins: Pick<DevicePlugins, 'connect' | 'disconnect'>;
  readonly naming: Naming;
  readonly host: Pick<Host, 'list' | 'status' | 'makeFolder' | 'removeFile' | 'writeFile' | 'isSelinuxEnabled' | 'execute'>;
  readonly log: Log;
  readonly metrics: Pick<AgentMetrics, 'deviceRegistrations'>;
}

const folderMode = 0o750;
const fileMode = 0o644;

/** Takes registrations. */
export class DeviceRegistration implements PluginHandler, AsyncDisposable {
  readonly #parts: DeviceRegistrationParts;
  readonly #server: GrpcServer;

  constructor(parts: DeviceRegistrationParts) {
    this.#parts = parts;
    this.#server = new GrpcServer({
      log: parts.log,
      procedures: serves(register, async ({version, endpoint, resourceName}) => {
        parts.metrics.deviceRegistrations.add({resource_name: resourceName});
        checkVersion(
          [version],
          `requested API version "${version}" is not supported by ${parts.naming.agent}. Supported version is ["${deviceApiVersion}"]`,
        );
        this.#checkName(resourceName);
        await parts.plugins.connect(resourceName, join(parts.folder, endpoint));
        return {};
      }),
    });
  }

  /** Begins to listen. The sockets of plugins are removed, by which they see that they have to register again. */
  async start(): Promise<void> {
    const {folder, host, log} = this.#parts;
    await host.makeFolder(folder, folderMode);
    await labelPluginFolder(host, log, folder);
    for (const name of await host.list(folder))
      if ((await host.status(join(folder, name)))?.kind === 'socket') await host.removeFile(join(folder, name));
    // Tells those who look for sockets that there is a newer way to register.
    await host.writeFile(join(folder, 'DEPRECATION'), '', fileMode);
    await this.#server.listen(join(folder, deviceFiles.socket));
  }

  validate({name, versions}: Plugin): void {
    checkVersion(versions, `manager version, ${deviceApiVersion}, is not among plugin supported versions [${versions.join(' ')}]`);
    this.#checkName(name, 'invalid name of device plugin socket: ');
  }

  register({name, endpoint}: Plugin): Promise<void> {
    return this.#parts.plugins.connect(name, endpoint);
  }

  deregister({name}: Plugin): Promise<void> {
    return this.#parts.plugins.disconnect(name);
  }

  #checkName(resource: string, context = ''): void {
    if (isExtendedResource(resource, this.#parts.naming)) return;
    throw new Error(`${context}the ResourceName ${JSON.stringify(resource)} is invalid`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

const checkVersion = (versions: readonly string[], wrongVersion: string): void => {
  if (!versions.includes(deviceApiVersion)) throw new Error(wrongVersion);
};
