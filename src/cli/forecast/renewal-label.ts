/** On the requests for certificates that a forecast makes: what becomes of them is told of their nodes. */
export const renewalLabel = 'plat-forecast/renewal';
