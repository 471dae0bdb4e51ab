import type {AuthenticationRequest} from '#src/api/authentication.js';

/** The bearer token of a request; empty when there is none. */
export const bearerToken = ({headers}: AuthenticationRequest): string => {
  const value = headers['authorization'];
  if (typeof value !== 'string') return '';
  const [scheme = '', token = ''] = value.trim().split(/ +/, 2);
  return scheme.toLowerCase() === 'bearer' ? token : '';
};
