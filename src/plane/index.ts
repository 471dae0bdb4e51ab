/** What programs that embed a control plane use: `import {startPlane} from 'plat'`. */
export {startPlane, type Plane} from './plane.js';
export type {PlaneOptions} from './options.js';
export type {Manifest} from './manifests/read.js';
export type {LocalWebhooks} from './manifests/webhooks.js';
export type {ServingPair} from './material.js';
export {customKind} from '#src/api/kind.js';
export {kinds, type Kind, type ObjectOf} from '#src/api/kinds.js';
export {naming, type Naming, type NamingName} from '#src/api/naming.js';
export {isAlreadyExists, isConflict, isForbidden, isNotFound, StatusError} from '#src/api/status.js';
export type {UserInfo} from '#src/api/user.js';
export type * from '#src/api/types.js';
export type {Client, ResourceClient} from '#src/client/client.js';
export {VirtualClock} from '#src/base/virtual-clock.js';
export type {Clock} from '#src/base/clock.js';
