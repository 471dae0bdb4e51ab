// The services between device plugins and the agent, version v1beta1.

import {emptyMessage} from '#src/platlet/cri/messages/common.js';
import {flag, int, map, message, nested, repeated, text, texts, type Value} from '#src/platlet/rpc/codec.js';
import {procedureOf} from '#src/platlet/rpc/procedure.js';

/** The version of the services that plugins have to support. */
export const deviceApiVersion = 'v1beta1';

const pluginOptions = message({preStartRequired: flag(1), getPreferredAllocationAvailable: flag(2)});
export type PluginOptions = Value<typeof pluginOptions>;

const registerRequest = message({version: text(1), endpoint: text(2), resourceName: text(3), options: nested(pluginOptions)(4)});

const numaNode = message({id: int(1)});
const device = message({id: text(1), health: text(2), topology: nested(message({nodes: repeated(numaNode)(1)}))(3)});
export type ReportedDevice = Value<typeof device>;

const preferredRequest = message({availableDeviceIds: texts(1), mustIncludeDeviceIds: texts(2), allocationSize: int(3)});

const mount = message({containerPath: text(1), hostPath: text(2), readOnly: flag(3)});
const deviceFile = message({containerPath: text(1), hostPath: text(2), permissions: text(3)});

/** What a container gets with its devices. */
export const containerAllocation = message({
  envs: map(1),
  mounts: repeated(mount)(2),
  devices: repeated(deviceFile)(3),
  annotations: map(4),
  cdiDevices: repeated(message({name: text(1)}))(5),
});
export type ContainerAllocation = Value<typeof containerAllocation>;

const ids = message({deviceIds: texts(1)});

export const register = procedureOf('v1beta1.Registration')('Register', registerRequest, emptyMessage);

const plugin = procedureOf('v1beta1.DevicePlugin');

export const devicePlugin = {
  options: plugin('GetDevicePluginOptions', emptyMessage, pluginOptions),
  listAndWatch: plugin('ListAndWatch', emptyMessage, message({devices: repeated(device)(1)})),
  preferred: plugin(
    'GetPreferredAllocation',
    message({containerRequests: repeated(preferredRequest)(1)}),
    message({containerResponses: repeated(ids)(1)}),
  ),
  allocate: plugin(
    'Allocate',
    message({containerRequests: repeated(ids)(1)}),
    message({containerResponses: repeated(containerAllocation)(1)}),
  ),
  preStart: plugin('PreStartContainer', ids, emptyMessage),
};
