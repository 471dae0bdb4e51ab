// What the pages of the tests and of the pictures show.

import {existsSync} from 'node:fs';
import {kinds} from '#src/api/kinds/index.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plane} from '#src/plane/plane.js';

/** Returns the path of a Chromium of this machine; undefined without one. */
export const chromiumPath = (): string | undefined =>
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(file => existsSync(file));

export const chromiumFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const labels = {app: 'web'};
const namespace = 'default';

/** Creates a deployment that runs, with what it refers to, and a pod that waits. */
export const fillPlane = async (plane: Plane, clock: VirtualClock): Promise<void> => {
  const client = plane.client();
  await client.create(kinds.configMaps, {metadata: {name: 'web', namespace}, data: {greeting: 'hello'}});
  await client.create(kinds.services, {metadata: {name: 'web', namespace}, spec: {selector: labels, ports: [{port: 80}]}});
  await client.create(kinds.deployments, {
    metadata: {name: 'web', namespace},
    spec: {
      replicas: 3,
      selector: {matchLabels: labels},
      template: {
        metadata: {labels},
        spec: {
          containers: [{name: 'web', image: 'web', ports: [{containerPort: 80}], envFrom: [{configMapRef: {name: 'web'}}]}],
          volumes: [{name: 'tls', secret: {secretName: 'web-tls', optional: true}}],
        },
      },
    },
  });
  await client.create(kinds.pods, {
    metadata: {name: 'waits', namespace},
    spec: {containers: [{name: 'large', image: 'large', resources: {requests: {cpu: '4000'}}}]},
  });
  await clock.advance(60_000);
};
