/** The naming that a server uses on the wire. It never changes the names of flags, programs or controllers. */
export const serverNaming = {
  naming: {
    type: 'string',
    help: 'The naming on the wire: plat, or kubernetes for the names that clients of Kubernetes use.',
    default: 'plat',
    oneOf: ['plat', 'kubernetes'],
  },
} as const;

/** The naming of a plane: Kubernetes' by default, for existing clients. */
export const planeNaming = {
  naming: {...serverNaming.naming, default: 'kubernetes'},
} as const;

/** The naming that a client uses. */
export const clientNaming = {
  naming: {
    type: 'string',
    help: 'The naming on the wire: plat, kubernetes, or auto to detect that of the server.',
    default: 'auto',
    oneOf: ['auto', 'plat', 'kubernetes'],
  },
} as const;
