import {createHmac} from 'node:crypto';

const encoded = (text: string): string => Buffer.from(text).toString('base64url');

/**
 * Returns the signature of the cluster-info config map's connection settings with a bootstrap token: a JWS (HS256,
 * compact) whose payload is detached (RFC 7515, appendix F). `key` is the token's secret part.
 */
export const detachedSignature = (content: string, {id, key}: {readonly id: string; readonly key: Buffer | string}): string => {
  const header = encoded(`{"alg":"HS256","kid":"${id}"}`);
  const signature = createHmac('sha256', key)
    .update(`${header}.${encoded(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
};
