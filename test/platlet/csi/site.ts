import {aPlaneWithNode} from '#test/platlet/agent.js';
import {folderHost} from '#test/platlet/host.js';
import {FakeDriver, type FakeDriverOptions} from './fake-driver.js';

/** The volume of a driver. */
export const csi = {driver: 'disk.example.com', volumeHandle: 'vol-1'};
const shaOf = /[0-9a-f]{64}/g;

/** A plane, a host and a started driver. */
export const aSite = async (options?: FakeDriverOptions) => {
  const plane = await aPlaneWithNode();
  const host = folderHost();
  const driver = await new FakeDriver(csi.driver, host, options).start();
  return {
    plane,
    host,
    driver,
    /** The calls since the last time, with these words for the uids of pods. */
    calls: (uids: Readonly<Record<string, string | undefined>> = {}): string[] =>
      driver.calls
        .splice(0)
        .map(call => Object.entries(uids).reduce((text, [word, uid]) => text.replace(uid!, word), call.replace(shaOf, 'SHA'))),
    async [Symbol.asyncDispose]() {
      await driver[Symbol.asyncDispose]();
      await plane[Symbol.asyncDispose]();
      host[Symbol.dispose]();
    },
  };
};

/** Where it is staged, in calls. */
export const globalMount = 'vol-1 /plugins/kubernetes.io/csi/disk.example.com/SHA/globalmount';
/** Where it is published for a pod, in calls. */
export const target = (uid: string): string => `vol-1 /pods/${uid}/volumes/kubernetes.io~csi/pv-c/mount`;
