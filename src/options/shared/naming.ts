/** Which vocabulary a server speaks. Never changes the names of flags, programs or controllers. */
export const serverNaming = {
  naming: {
    type: 'string',
    help: 'The vocabulary on the wire: plat, or kubernetes for the names that existing clients of Kubernetes use.',
    default: 'plat',
    oneOf: ['plat', 'kubernetes'],
  },
} as const;

/** Which vocabulary a whole plane speaks: that of existing clients, unless told otherwise. */
export const planeNaming = {
  naming: {...serverNaming.naming, default: 'kubernetes'},
} as const;

/** Which vocabulary a client speaks. */
export const clientNaming = {
  naming: {
    type: 'string',
    help: 'The vocabulary on the wire: plat, kubernetes, or auto to ask the server\'s group list.',
    default: 'auto',
    oneOf: ['auto', 'plat', 'kubernetes'],
  },
} as const;
