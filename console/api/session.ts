import {virtualNow} from '#page/base/now.js';
import {call, useSecret} from './call.js';

/** What the console's server says of itself. */
export interface Session {
  readonly csrf: string;
  /** The name of the cluster. */
  readonly server: string;
  readonly version: string;
  readonly time: 'real' | 'virtual';
}

/** Redeems the link that the page was opened with, if there is one, and returns the session. */
export const beginSession = async (): Promise<Session> => {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token !== undefined) {
    history.replaceState(undefined, '', '#/overview'); // The token is nobody's to see, and of no use from now on.
    dispatchEvent(new HashChangeEvent('hashchange'));
    await call('/console/v1/session', {method: 'POST', body: JSON.stringify({token})}).catch(() => {});
  }
  const session = await call<Session>('/console/v1/session');
  useSecret(session.csrf);
  if (session.time === 'virtual') await followTime();
  return session;
};

const timeMs = 1000;

/** Keeps what the page knows of a virtual clock up to date. */
const followTime = async (): Promise<void> => {
  const read = async (): Promise<void> => virtualNow.set((await call<{now: number}>('/console/v1/time')).now);
  await read();
  setInterval(() => document.hidden || void read().catch(() => {}), timeMs);
};
