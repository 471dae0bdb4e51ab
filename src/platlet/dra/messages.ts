// The services of the plugins of drivers of resource claims: `DRAPlugin`, versions 1 and 1 beta 1, of which the older
// has no shares, and `DRAResourceHealth`, version 1 alpha 1.

import {claimDriverNames} from '#src/api/naming.js';
import {emptyMessage} from '#src/platlet/cri/messages/common.js';
import {int, message, nested, oneOf, repeated, text, texts, type Value} from '#src/platlet/rpc/codec.js';
import {procedureOf} from '#src/platlet/rpc/procedure.js';

const claim = message({namespace: text(1), uid: text(2), name: text(3)});
const claims = message({claims: repeated(claim)(1)});

const device = message({requestNames: texts(1), poolName: text(2), deviceName: text(3), cdiDeviceIds: texts(4), shareId: text(5)});
const prepared = message({devices: repeated(device)(1), error: text(2)});
const unprepared = message({error: text(1)});

export type ClaimMessage = Value<typeof claim>;

const servicesOf = (version: string) => {
  const plugin = procedureOf(`${claimDriverNames.services}.${version}.DRAPlugin`);
  // The results are maps by the UIDs of claims.
  return {
    prepare: plugin('NodePrepareResources', claims, message({claims: repeated(message({uid: text(1), result: nested(prepared)(2)}))(1)})),
    unprepare: plugin(
      'NodeUnprepareResources',
      claims,
      message({claims: repeated(message({uid: text(1), result: nested(unprepared)(2)}))(1)}),
    ),
  };
};

/** The versions of the service, as plugins name them, the newest first. */
export const pluginServices = {'v1.DRAPlugin': servicesOf('v1'), 'v1beta1.DRAPlugin': servicesOf('v1beta1')};
export type PluginService = keyof typeof pluginServices;

const deviceHealth = message({
  device: nested(message({poolName: text(1), deviceName: text(2)}))(1),
  health: oneOf('Unknown', 'Healthy', 'Unhealthy')(2),
  lastUpdatedSeconds: int(3),
  timeoutSeconds: int(4),
});
export type ReportedHealth = Value<typeof deviceHealth>;

export const watchHealth = procedureOf('v1alpha1.DRAResourceHealth')(
  'NodeWatchResources',
  emptyMessage,
  message({devices: repeated(deviceHealth)(1)}),
);
