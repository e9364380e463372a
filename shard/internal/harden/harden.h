#ifndef ARBORIST_HARDEN_H
#define ARBORIST_HARDEN_H

int arborist_register(void);

#endif
