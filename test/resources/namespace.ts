export const namespace = 'default';
