"""Serial arms by families: closed forms of their inverse position kinematics, from few lengths."""
