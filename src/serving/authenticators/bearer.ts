import type {AuthenticationRequest} from '#src/api/authentication.js';

const partsOf = ({headers}: AuthenticationRequest): readonly string[] => {
  const value = headers['authorization'];
  if (typeof value !== 'string') return [];
  const [scheme = '', ...rest] = value.trim().split(' ');
  return scheme.toLowerCase() === 'bearer' ? rest : [];
};

/**
 * Returns the bearer token of a request; empty if there is none: no token, another scheme, or more than one space
 * before it.
 */
export const bearerToken = (request: AuthenticationRequest): string => partsOf(request)[0] ?? '';

/** Whether a token is ignored because of the spaces before it. */
export const hasMisplacedToken = (request: AuthenticationRequest): boolean => {
  const [first, second] = partsOf(request);
  return first === '' && second !== undefined;
};
